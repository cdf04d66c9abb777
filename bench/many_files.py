"""Logs of very large tables: `python -m bench.many_files`. What a look, a landing's choice of files and a checkpoint cost where a copy has 40,000 files and 400,000.

The logs are made up, with statistics of six columns in each file's line; no data file is there. Each step is played by a process of its own.
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.playing import commit, say
from incremental_assets.adapters.delta.log import delta_rs, log_cache, new_table
from incremental_assets.adapters.delta.log.checkpoint import checkpoint_if_due
from incremental_assets.adapters.delta.log.commit_file import put_if_absent
from incremental_assets.adapters.delta.log.idle_look import last_commit
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.files.skipping import Reach, file_may_hold
from incremental_assets.core.model.column import Column, Fidelity

RESULT = Path(__file__).parents[1] / "docs" / "benchmarks-files.json"
FILES = (40_000, 400_000)
_ROWS, _BYTES = 2_500_000, 256 * 2**20
"""Of each file."""
_A_COMMIT = 10_000
_TYPES = {
    "id": "bigint",
    "quantity": "int",
    "price": "decimal(12,2)",
    "state": "string",
    "note": "string",
    "updated_at": "timestamp",
}
_BEGUN = datetime(2024, 1, 1, tzinfo=UTC)


def main() -> None:
    """Make, measure, print, write."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--files", type=int, nargs="+", default=FILES)
    asked.add_argument("--result", type=Path, default=RESULT)
    asked.add_argument("--step", nargs=2, metavar=("NAME", "TABLE"), help="play one of them in this process")
    options = asked.parse_args()
    if options.step:
        name, table = options.step
        json.dump(_played(_STEPS[name], table), sys.stdout)
        return
    found = {
        "commit": commit(),
        "at": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "logs": [_log(each) for each in options.files],
    }
    options.result.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(options.result)


def _log(files: int) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory(prefix="files-") as folder:
        table = str(Path(folder) / "table")
        say(f"a log of {files:,} files")
        _make(table, files)
        log = Path(table) / "_delta_log"
        lines = sum(each.stat().st_size for each in log.glob("*.json"))
        steps = {name: _apart(name, table) for name in _STEPS}
        (checkpoint,) = log.glob("*.checkpoint.parquet")
        return {
            "files": files,
            "bytes of lines": lines,
            "bytes of the checkpoint": checkpoint.stat().st_size,
            "steps": steps,
        }


def _apart(name: str, table: str) -> Mapping[str, Any]:
    said = subprocess.run(
        [sys.executable, "-m", "bench.many_files", "--step", name, table], check=True, capture_output=True, text=True
    )
    found: Mapping[str, Any] = json.loads(said.stdout)
    say(f"  {name}: " + ", ".join(f"{what} {value:,}" for what, value in found.items()))
    return found


def _make(table: str, files: int) -> None:
    columns = [Column(name, kind, kind, Fidelity.EXACT) for name, kind in _TYPES.items()]
    new_table.create(table, new_table.NewTable(columns, {"delta.enableDeletionVectors": "true"}))
    # The last commit is small, as those of ticks are.
    begins = [*range(0, files - 1, _A_COMMIT), files - 1]
    for version, (first, end) in enumerate(zip(begins, [*begins[1:], files], strict=True), start=1):
        put_if_absent(table, version, [_info(), *({"add": _add(number)} for number in range(first, end))])


def _info() -> Mapping[str, Any]:
    return {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationMetrics": {}}}


def _add(number: int) -> Mapping[str, Any]:
    first, last = _BEGUN + timedelta(seconds=number), _BEGUN + timedelta(seconds=number + 1)
    stats = {
        "numRecords": _ROWS,
        "minValues": {
            "id": number * _ROWS,
            "quantity": 0,
            "price": 0.01,
            "state": "closed",
            "note": f"note number {number:032}",
            "updated_at": first.isoformat(),
        },
        "maxValues": {
            "id": (number + 1) * _ROWS - 1,
            "quantity": 99,
            "price": 99999.99,
            "state": "shipped",
            "note": f"note number {number + 1:032}",
            "updated_at": last.isoformat(),
        },
        "nullCount": dict.fromkeys(_TYPES, 0),
    }
    name = f"part-{number:05d}-9f1c2a6e-6a55-4a5e-8d1f-0c6f8a2b{number % 10_000:04d}.snappy.parquet"
    return {
        "path": name,
        "partitionValues": {},
        "size": _BYTES,
        "modificationTime": 1_700_000_000_000 + number,
        "dataChange": True,
        "stats": json.dumps(stats),
    }


def _played(step: Callable[[str], Iterator[tuple[str, float]]], table: str) -> Mapping[str, float]:
    """What it came to, and the memory of this process: before, and the most since it began."""
    before = _memory("VmRSS")
    found = dict(step(table))
    return {**found, "MiB before": before, "MiB at most": _memory("VmHWM")}


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{name}:"))


def _took(what: Callable[[], object]) -> float:
    begun = time.process_time()
    what()
    return round(time.process_time() - begun, 3)


def _replays(table: str) -> Iterator[tuple[str, float]]:
    yield "seconds of lines", _took(lambda: open_log(table))


def _checkpoints(table: str) -> Iterator[tuple[str, float]]:
    """As the commit does it that finds that one is due."""
    version = last_commit(table).version  # type: ignore[union-attr]
    yield (
        "seconds",
        _took(
            lambda: checkpoint_if_due(
                table, version, -1, {"delta.checkpointInterval": "1", "delta.enableExpiredLogCleanup": "false"}
            )
        ),
    )


def _opens(table: str) -> Iterator[tuple[str, float]]:
    yield "seconds", _took(lambda: open_log(table))
    yield "seconds again", _took(lambda: open_log(table))
    yield "MiB kept", _memory("VmRSS")
    yield "seconds of an idle look", _took(lambda: last_commit(table))
    seen = log_cache.latest(table)
    last, first = seen.state.version, next(iter(seen.state.files.values()))  # type: ignore[union-attr]
    put_if_absent(
        table, last + 1, [_info(), {"remove": {"path": first["path"], "dataChange": True}}, {"add": dict(first)}]
    )
    yield "seconds after a commit", _took(lambda: open_log(table))
    (Path(table) / "_delta_log" / f"{last + 1:020}.json").unlink()


def _chooses(table: str) -> Iterator[tuple[str, float]]:
    """As a landing does it whose keys lie in the newest files, and one whose keys lie anywhere; and what each of its tasks is sent."""
    files = tuple(log_cache.latest(table).state.files.values())  # type: ignore[union-attr]
    for name, lowest in (("recent", (len(files) - 2) * _ROWS), ("spread", 0)):
        within = (Reach("id", "bigint", lowest, len(files) * _ROWS),)
        begun = time.process_time()
        chosen = tuple(each for each in files if file_may_hold(each["stats"], within))
        yield f"seconds, {name} keys", round(time.process_time() - begun, 3)
        yield f"files, {name} keys", len(chosen)
        yield f"bytes for each task, {name} keys", len(pickle.dumps(chosen))


def _by_delta_rs(table: str) -> Iterator[tuple[str, float]]:
    yield "seconds", _took(lambda: delta_rs.opened(table))


_STEPS = {"replay": _replays, "checkpoint": _checkpoints, "open": _opens, "choose": _chooses, "delta-rs": _by_delta_rs}

if __name__ == "__main__":
    main()
