"""Looks at a folder of a million files, none of them new: `make bench ARGS="--only names"`.

Empty files come, twenty thousand at a time, and land; then nothing comes any more, and a sync in a session that is open looks for what is new. It is played by name alone: the files take minutes to
make. Most of them are hard links, so that they take no inodes; to a look each name is a file.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.big_table import Played, step
from bench.measuring import Failed, Watch
from bench.playing import say
from incremental_assets import load
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.syncing.sync import sync_table
from incremental_assets.resources.runtime import Runtime

NAME = "names"
LOOKS = 10
_AT_ONCE = 20_000
"""Files that one sync reads, and links of one file: a file system has a most."""
_CONFIG = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  drop:
    dialect: files
    folder: ./incoming
    files:
      shop.orders: {path: "*.jsonl", format: json, columns: {id: bigint}, settle: 0s}
    tables:
    - {table: shop.orders, strategy: append}
"""


def play(names: int) -> Mapping[str, Any]:
    """All of it, in a folder of its own. Raises Failed where a file does not land, or a look finds one that has."""
    played = Played(names)
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as scratch:
        folder = Path(scratch)
        (folder / "incoming").mkdir()
        (folder / "sources.yaml").write_text(_CONFIG, encoding="utf-8")
        runtime = Runtime(load(folder / "sources.yaml"))
        try:
            for first in range(0, names, _AT_ONCE):
                _make(folder / "incoming", first, min(_AT_ONCE, names - first))
                if _synced(runtime).status is Status.IDLE:
                    raise Failed("files have come, and none has landed")
                say(f"  {min(first + _AT_ONCE, names):,} files have landed")
            return played.document(list(_looks(runtime)))
        finally:
            runtime.close()


def _make(folder: Path, first: int, count: int) -> None:
    whole = folder / f"{first:09}.jsonl"
    whole.touch()
    for number in range(first + 1, first + count):
        (folder / f"{number:09}.jsonl").hardlink_to(whole)


def _looks(runtime: Runtime) -> Iterator[dict[str, Any]]:
    for number in range(LOOKS):
        with Watch(resident=(os.getpid(),)) as watch:
            found = _synced(runtime)
        if found.status is not Status.IDLE:
            raise Failed(f"nothing has come, and a look ended as {found.status}")
        cost = watch.cost()
        yield {**step(f"look {number + 1}", cost), "seconds": round(cost.wall, 2), "python": cost.python}


def _synced(runtime: Runtime) -> SyncReport:
    (spec,) = runtime.specs("drop").specs
    report = sync_table(spec, Request(f"{NAME}-{time.monotonic_ns()}"), runtime.ports("drop"))
    if report.error:
        raise Failed(report.error)
    return report
