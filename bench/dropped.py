"""Files that are dropped into a folder, landed by ours and by dlt: `make bench ARGS="--only files"`.

Ten thousand Parquet files of a thousand rows each land for the first time, by a process that begins with nothing and ends when they are in a Delta table; then ten new files come
before each tick. Both append the rows of each file. Each copy is compared with the count and the sums of the files.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from bench.big_table import Played, step
from bench.contender import ours
from bench.environments import CONTENDERS, Environments
from bench.measuring import Failed, timed
from bench.names import DLT_FILES, OURS
from bench.playing import rotated, say
from bench.verifying import prove_sums

NAME = "files"
FIRST, TICK = "first sync", "tick"
WAYS = OURS, DLT_FILES
ROUNDS = 3
NEW = 10
"""Files before each tick."""
ROWS = 1_000
"""Of each file."""
_AT_ONCE = 1_000
_ROWS = """
SELECT n AS id, (n * 7919 % 100003)::int AS customer, ((n * 31 % 1000000) / 100.0)::decimal(12,2) AS amount, ['open', 'paid', 'sent', 'back'][1 + n % 4] AS state,
'order number ' || n AS note, TIMESTAMPTZ '2026-01-01 00:00:00Z' + to_seconds(n) AS at FROM range({low}, {high}) AS t(n)
"""
_SUMS = "count(*), sum(id), sum(amount), sum(id * (customer % 7919)), sum(length(note))"
_CONFIG = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
spark: {{master: 'local[{cores}]'}}
sources:
  drop:
    dialect: files
    folder: {folder}
    files:
      shop.orders: {{path: "*.parquet", format: parquet, settle: 0s}}
    tables:
    - {{table: shop.orders, strategy: append}}
"""


def play(files: int, environments: Environments) -> Mapping[str, Any]:
    """All of it, in a folder of its own. Raises Failed where a contender fails, or its copy does not become what the files are."""
    played = Played(files)
    python = environments.python("dlt")
    with tempfile.TemporaryDirectory(prefix=f"{NAME}-") as scratch:
        shop = Shop(Path(scratch), python)
        say(f"{NAME}: {files:,} files of {ROWS:,} rows")
        shop.drop(files)
        return played.document(list(_steps(shop)))


def _steps(shop: Shop) -> Iterator[dict[str, Any]]:
    for number in range(ROUNDS):
        for way in rotated(WAYS, number):
            shop.forget(way)
            yield shop.landed(way, FIRST)
    for number in range(ROUNDS):
        shop.drop(NEW)
        for way in rotated(WAYS, number):
            yield shop.landed(way, TICK)


class Shop:
    """A folder of files, and beside it a lake for each contender."""

    def __init__(self, folder: Path, python: Path) -> None:
        self._folder, self._python = folder, python
        self._incoming, self._files = folder / "incoming", 0
        self._incoming.mkdir()

    def drop(self, files: int) -> None:
        """So many more files, each with the numbers behind those of the one before."""
        for first in range(self._files, self._files + files, _AT_ONCE):
            last = min(first + _AT_ONCE, self._files + files)
            rows = duckdb.sql(_ROWS.format(low=first * ROWS, high=last * ROWS)).to_arrow_table()
            for number in range(first, last):
                some = rows.slice((number - first) * ROWS, ROWS)
                pq.write_table(some, self._incoming / f"{number:07}.parquet", compression="zstd")
        self._files += files

    def forget(self, way: str) -> None:
        """A contender begins with nothing."""
        room = self._room(way)
        shutil.rmtree(room, ignore_errors=True)
        (room / "dagster").mkdir(parents=True)
        text = _CONFIG.format(cores=os.cpu_count(), folder=self._incoming)
        (room / "sources.yaml").write_text(text, encoding="utf-8")

    def landed(self, way: str, what: str) -> dict[str, Any]:
        """One whole process, proven before its time counts."""
        os.sync()
        answer, cost = timed(self._command(way), self._environment(way))
        _check(way, answer)
        prove_sums(self._copy(way), _SUMS, self._sums())
        return {
            **step(f"{what}: {way}", cost),
            "seconds": round(cost.wall, 2),
            "peak": cost.peak,
            "what": what,
            "way": way,
        }

    def _command(self, way: str) -> list[str | Path]:
        room = self._room(way)
        if way == OURS:
            return [ours("incremental-assets"), "sync", "--config", room / "sources.yaml", "--json"]
        return [self._python, CONTENDERS / "dlt_files.py", self._incoming, room / "lake", "orders"]

    def _environment(self, way: str) -> Mapping[str, str]:
        if way == OURS:
            return {**os.environ, "DAGSTER_HOME": str(self._room(way) / "dagster")}
        return {**os.environ, "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}

    def _copy(self, way: str) -> Path:
        return self._room(way) / "lake" / ("drop/shop/orders" if way == OURS else "shop/orders")

    def _sums(self) -> tuple[Any, ...]:
        (found,) = duckdb.sql(f"SELECT {_SUMS} FROM read_parquet('{self._incoming}/*.parquet')").fetchall()
        return tuple(found)

    def _room(self, way: str) -> Path:
        return self._folder / ("ours" if way == OURS else "dlt")


def _check(way: str, answer: str) -> None:
    if way == OURS:
        bad = [table["error"] for table in json.loads(answer)["tables"] if table["error"]]
        if bad:
            raise Failed(bad[0])
