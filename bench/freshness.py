"""How long after its commit a row is seen in the lake, by the sensor, with no hand on it: `make bench ARGS="--only Q"`.

`incremental-assets dev` runs as a user runs it: Dagster's webserver, daemon and code location, and the engine; its source has `every: 1s`. One row after the other
is committed, at random moments after the one before was seen, and another process looks for it in the Delta table. Where the time goes is read from Dagster's own log of the run.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
from dagster import DagsterEventType, DagsterInstance
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow import dataset

from bench.big_table import big_table
from bench.measuring import Failed
from bench.playing import commit, say
from bench.served import served
from incremental_assets.demo.state import free_port

NAME = "Q"
ROOT = Path(__file__).parents[1]
EVERY = 1
PAUSE = 6.0
"""Seconds at the most between the moment at which a row is seen and the next one's commit: more than the daemon's own rounds take, so that none of its phases is preferred."""
_WARM = 3
"""Rows before the first that counts."""
_PATIENCE = 240
_LOOKS_EVERY = 0.02
_ROWS = 10_000
_MADE = (
    "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    f"INSERT INTO orders (note) SELECT 'note number ' || n FROM generate_series(1, {_ROWS}) AS n",
    "CREATE INDEX ON orders (updated_at)",
)
_TERMS = "cursor: {column: updated_at, type: timestamp}, strategy: upsert"
_OF_A_RUN = (DagsterEventType.RUN_STARTING, DagsterEventType.RUN_START)
PARTS = (
    "from the commit until the sensor requests a run",
    "until the run is taken from Dagster's queue",
    "until it executes, in its own process",
    "until the row is seen",
)


@dataclass(frozen=True)
class Seen:
    """One row: when it was committed and seen, in seconds since 1970."""

    committed: float
    seen: float


def play(rows: int) -> Mapping[str, Any]:
    """So many rows, one after the other. Raises Failed where one is never seen, or Dagster ends."""
    load, at = os.getloadavg()[0], datetime.now(UTC)
    with _deployment() as (source, folder, process):
        table, chance = folder / "lake" / "shop" / "public" / "orders", random.Random(20)
        _wait(lambda: _holds(table, _ROWS), process)
        seen = []
        for number in range(rows + _WARM):
            time.sleep(chance.uniform(0, PAUSE))
            one = _one(source, table, process)
            say(f"  {number - _WARM + 1}: {one.seen - one.committed:.2f} s")
            seen.append(one)
        parts = _parts(seen[_WARM:], folder / "dagster")
    return {
        "rows": rows,
        "every": EVERY,
        "commit": commit(),
        "at": f"{at:%Y-%m-%d %H:%M} UTC",
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "seconds": [round(each.seen - each.committed, 2) for each in seen[_WARM:]],
        "parts": [[round(part, 2) for part in each] for each in parts],
    }


@contextmanager
def _deployment() -> Iterator[tuple[psycopg.Connection, Path, subprocess.Popen[bytes]]]:
    """The source, the folder of the configuration, and `dev` on it; all gone at the end."""
    with big_table(NAME, _ROWS, _MADE) as made:
        home = made.folder / "dagster"
        home.mkdir(mode=0o700)
        (home / "dagster.yaml").symlink_to(ROOT / "dagster.yaml")
        with _dev(made.written(_TERMS, every=f"{EVERY}s"), home) as process:
            yield made.source, made.folder, process


@contextmanager
def _dev(configuration: Path, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {"INCREMENTAL_ASSETS_CONFIG": str(configuration), "DAGSTER_HOME": str(home)}
    with served("dev", "--port", str(free_port()), environment=environment, folder=configuration.parent) as process:
        yield process


def _one(source: psycopg.Connection, table: Path, process: subprocess.Popen[bytes]) -> Seen:
    """Commit a row, and wait until a reader of the table has it."""
    row = source.execute("INSERT INTO orders (note) VALUES ('new') RETURNING id").fetchone()
    committed = time.time()
    assert row is not None
    number = int(row[0])
    _wait(lambda: _has(table, number), process)
    return Seen(committed, time.time())


def _wait(until: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not until():
        if process.poll() is not None:
            raise Failed("`incremental-assets dev` has ended")
        if time.monotonic() > deadline:
            raise Failed(f"a row was not in the lake {_PATIENCE} seconds after its commit")
        time.sleep(_LOOKS_EVERY)


def _holds(table: Path, rows: int) -> bool:
    try:
        return _files(DeltaTable(table)).count_rows() >= rows
    except TableNotFoundError:
        return False


_known: dict[Path, int] = {}


def _has(table: Path, number: int) -> bool:
    """Whether the table holds the row. A version without it is read once."""
    log = table / "_delta_log"
    following = _known.get(table)
    if following is not None and not (log / f"{following + 1:020}.json").exists():
        return False
    delta = DeltaTable(table)
    _known[table] = delta.version()
    return _files(delta).count_rows(filter=dataset.field("id") == number) > 0


def _files(delta: DeltaTable) -> dataset.Dataset:
    """The files of the version. No deletion vector matters: a row that is looked for is new."""
    return dataset.dataset(delta.file_uris(), format="parquet")


def _parts(seen: Sequence[Seen], home: Path) -> list[list[float]]:
    """Of each row whose run is known, the seconds of `PARTS`."""
    found = []
    os.environ["DAGSTER_HOME"] = str(home)  # which the settings of the instance name
    with DagsterInstance.from_config(str(home)) as instance:
        runs = sorted(_moments(instance), key=lambda moments: moments[0])
        for each in seen:
            # The run that brought it had begun before it was seen, and was the last of those.
            before = [moments for moments in runs if moments[-1] < each.seen]
            if before and before[-1][0] > each.committed:
                moments = [each.committed, *before[-1], each.seen]
                found.append([later - earlier for earlier, later in pairwise(moments)])
    return found


def _moments(instance: DagsterInstance) -> Iterator[list[float]]:
    for record in instance.get_run_records():
        events = instance.all_logs(record.dagster_run.run_id, of_type=set(_OF_A_RUN))
        when = {event.dagster_event.event_type: event.timestamp for event in events if event.dagster_event}
        if len(when) == len(_OF_A_RUN):
            yield [record.create_timestamp.timestamp(), *(when[kind] for kind in _OF_A_RUN)]
