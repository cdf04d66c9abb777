"""A steady stream of changes in PostgreSQL's log, from each commit until the lake has it: `make bench ARGS="--only stream"`.

`incremental-assets sync --follow` runs as a user runs it, on a source with `every: 2s`, whose eight tables are read from the log. A hundred transactions a second are committed, to one table
after the other: rows that come, change and go, so many in each that the rate is reached. A transaction is visible when the copy's log has a commit up to its place in the source's.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from bench.backlog import SETTINGS
from bench.big_table import TABLE, BigTable, Played, big_table
from bench.figures import percentile
from bench.measuring import Failed, Watch
from bench.playing import say
from bench.served import served
from bench.verifying import prove_sums

NAME = "stream"
RATES = (1_000, 10_000)
"""Changes a second."""
TABLES = ("orders", *(f"orders_{number}" for number in range(2, 9)))
_PER_SECOND = 100
"""Transactions."""
_ROWS = 100_000
_WARM = 15.0
"""Seconds of the stream before the first transaction that counts."""
_PATIENCE = 120.0
_COLUMNS = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int, status text, total numeric(12,2), quantity int, note text, at timestamptz DEFAULT now()"
_NEW = "INSERT INTO {table} (customer, status, total, quantity, note) SELECT n, 'open', n * 0.5, n % 7, 'note of ' || n FROM generate_series(1, {{rows}}) AS n"
_SUMS = "count(*), sum(id), sum(id * (quantity % 7919))"


def play(seconds: int) -> Mapping[str, Any]:
    """At each rate for so long. Raises Failed where a transaction is not seen, or a copy does not become what its table is."""
    played = Played(_ROWS)
    with big_table(NAME, _ROWS, list(_made()), SETTINGS) as table:
        steps = [_step(table, rate, seconds) for rate in RATES]
    return {**played.document(steps), "tables": len(TABLES), "for": seconds}


def _made() -> Iterator[str]:
    for table in TABLES:
        yield f"CREATE TABLE {table} ({_COLUMNS})"
        yield _NEW.format(table=table).format(rows=_ROWS)
    yield f"CREATE PUBLICATION incremental_assets_shop FOR TABLE {', '.join(TABLES)}"
    yield "SELECT pg_create_logical_replication_slot('incremental_assets_shop', 'pgoutput')"


def _step(table: BigTable, rate: int, seconds: int) -> dict[str, Any]:
    """One rate: the stream runs, is waited for, and what was seen of it is counted."""
    configuration = table.written("capture: log", every="2s", names=TABLES)
    with _following(configuration) as process:
        _until(lambda: all(_commits(table, name) for name in TABLES), process, "the first load")
        writer = Writer(table.server.dsn("shop"), rate)
        with writer.running():
            time.sleep(_WARM)
            begun = time.time()
            with Watch(resident=(process.pid,)) as watch:
                _while(process, seconds)
            ended = time.time()
        _until(lambda: all(_has(table, name, writer.last(name)) for name in TABLES), process, "the end of the stream")
        for name in TABLES:
            prove_sums(_copy(table, name), _SUMS, table.row(f"SELECT {_SUMS} FROM {name}"))
    counted = [each for each in writer.written if begun <= each.at < ended]
    waited = _waited(table, counted)
    found = {
        "rate": rate,
        "changes": sum(each.changes for each in counted),
        "transactions": len(counted),
        "half": round(_share(waited, 50), 2),
        "most": round(_share(waited, 99), 2),
        "longest": round(max(waited), 2),
        "cores": round(watch.cost().cpu / watch.wall, 2),
    }
    say(
        f"  {rate:,} changes a second: half within {found['half']} s, 99 of 100 within {found['most']} s, {found['cores']} of a core"
    )
    return found


@dataclass(frozen=True)
class Written:
    """A transaction: its table, when its commit was answered, in seconds since 1970, behind which place of the log it is, and its changes."""

    table: str
    at: float
    lsn: int
    changes: int


@dataclass
class Writer:
    """Commits transactions in a thread of its own, each at its time, or at once where it is late."""

    dsn: str
    rate: int
    written: list[Written] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _broken: list[BaseException] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Until the end of the block. Raises Failed where it has not kept the rate, or its connection broke."""
        thread = threading.Thread(target=self._run, daemon=True)
        begun = time.monotonic()
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()
        if self._broken:
            raise Failed(f"the writer broke: {self._broken[0]}")
        reached = sum(each.changes for each in self.written) / (time.monotonic() - begun)
        if reached < 0.95 * self.rate:
            raise Failed(f"the writer came to {reached:,.0f} changes a second, of {self.rate:,}")

    def last(self, table: str) -> int:
        """The place behind the last transaction of a table."""
        return max((each.lsn for each in self.written if each.table == table), default=0)

    def _run(self) -> None:
        try:
            with psycopg.connect(self.dsn, autocommit=True) as source:
                begun = time.monotonic()
                while not self._over.is_set():
                    number = len(self.written)
                    self._over.wait(max(0.0, begun + number / _PER_SECOND - time.monotonic()))
                    self.written.append(
                        _transaction(source, TABLES[number % len(TABLES)], number, self.rate // _PER_SECOND)
                    )
        except psycopg.Error as error:
            self._broken.append(error)


def _transaction(source: psycopg.Connection, table: str, number: int, changes: int) -> Written:
    """Two fifths of its changes are rows that come, as many change, and one fifth goes: of those that came first."""
    come, gone = changes * 2 // 5, changes // 5
    low = number // len(TABLES) * gone + 1
    middle = _ROWS // 2 + number * come % (_ROWS // 4)
    statements = (
        "BEGIN",
        _NEW.format(table=table).format(rows=come),
        f"UPDATE {table} SET quantity = quantity + 1, at = now() WHERE id BETWEEN {middle} AND {middle + changes - come - gone - 1}",
        f"DELETE FROM {table} WHERE id BETWEEN {low} AND {low + gone - 1}",
        "COMMIT",
        "SELECT pg_current_wal_insert_lsn() - '0/0'",
    )
    cursor = source.execute("; ".join(statements).encode())
    changed = 0
    while cursor.nextset():
        if cursor.statusmessage and cursor.statusmessage.split()[0] in ("INSERT", "UPDATE", "DELETE"):
            changed += cursor.rowcount
    row = cursor.fetchone()
    assert row is not None
    return Written(table, time.time(), int(row[0]), changed)


def _waited(table: BigTable, written: Sequence[Written]) -> list[float]:
    """Of each transaction the seconds until a commit of its copy had it."""
    seen = {name: _commits(table, name) for name in TABLES}
    places = {name: [lsn for lsn, _ in commits] for name, commits in seen.items()}
    return [seen[each.table][bisect_left(places[each.table], each.lsn)][1] - each.at for each in written]


def _share(waited: Sequence[float], share: int) -> float:
    found = percentile(waited, share)
    if found is None:
        raise Failed("no transaction was committed")
    return found


def _commits(table: BigTable, name: str) -> list[tuple[int, float]]:
    """Of each commit of a copy up to which place it has the log, and when it was there, in their order."""
    found = []
    for file in sorted((_copy(table, name) / "_delta_log").glob("*.json")):
        for line in file.read_text().splitlines():
            note = json.loads(line).get("commitInfo", {}).get("userMetadata")
            lsn = _place(json.loads(note)) if note else None
            if lsn is not None:
                found.append((lsn, file.stat().st_ctime))
    return found


def _place(note: Mapping[str, Any]) -> int | None:
    text = note.get("state", {}).get("position", {}).get("lsn")
    if text is None:
        return None
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


def _has(table: BigTable, name: str, lsn: int) -> bool:
    commits = _commits(table, name)
    return bool(commits) and commits[-1][0] >= lsn


@contextmanager
def _following(configuration: Path) -> Iterator[subprocess.Popen[bytes]]:
    home = configuration.parent / "dagster"
    home.mkdir(mode=0o700, exist_ok=True)
    with served(
        "sync",
        "--follow",
        "--config",
        configuration,
        environment={"DAGSTER_HOME": str(home)},
        folder=configuration.parent,
        stdout=subprocess.DEVNULL,
    ) as process:
        yield process


def _while(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return
    raise Failed("`sync --follow` has ended")


def _until(done: Callable[[], bool], process: subprocess.Popen[bytes], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise Failed(f"{what} was not in the lake after {_PATIENCE:.0f} seconds")
        _while(process, 0.2)


def _copy(table: BigTable, name: str) -> Path:
    return table.folder / "lake" / TABLE.source / TABLE.schema / name
