"""MariaDB beside PostgreSQL: a first load of `lineitem` and ticks of `orders`, by turns: `make bench ARGS="--only databases"`.

Both hold the same TPC-H rows, and each round changes the same of them. No time counts before the copies come to the sums of their sources.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from bench.contender import Job
from bench.figures import Result, Round
from bench.measuring import Failed
from bench.names import MARIADB, POSTGRESQL
from bench.ours import Ours
from bench.playing import Tally, commit, say
from bench.source import GUARD, KEYS, Source, Table
from bench.verifying import prove_sums
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.shop_in_mariadb import Shop
from incremental_assets.demo.tpch import DATABASE, READER

NAME = "databases"
LOAD, TICK = "DB load", "DB tick"
_SUMS = {
    "lineitem": "count(*), sum(l_orderkey), sum(l_linenumber), sum(l_extendedprice)",
    "orders": "count(*), sum(o_orderkey), sum(o_totalprice), sum(length(o_comment))",
}
# Others each time, the same of both, spread over the keys; neither database has the other's random numbers.
_CHANGE = """
UPDATE orders SET o_comment = 'changed for the {number}. time', updated_at = {now} WHERE o_orderkey IN
(SELECT o_orderkey FROM (SELECT o_orderkey FROM orders ORDER BY md5(concat(o_orderkey, '-', {number})) LIMIT {rows}) picked)
"""


class Database(Protocol):
    """What is read: as much of it as a round needs."""

    @property
    def port(self) -> int:
        """On 127.0.0.1."""

    @property
    def password(self) -> str:
        """The reader's."""

    @property
    def version(self) -> str:
        """As the server tells it."""

    def run(self, statement: str) -> int:
        """Rows that it touched."""

    def row(self, query: str) -> tuple[Any, ...]:
        """The first one."""


class _Shop(Shop):
    settings = MappingProxyType(
        {"innodb-buffer-pool-size": "1G", "innodb-log-file-size": "1G", "innodb-flush-log-at-trx-commit": "2"}
    )


class MariaDB:
    """A server with TPC-H data, which stays for the next time."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._shop = folder, _Shop(folder)

    def start(self, scale: Decimal) -> None:
        """Up, with the data of that scale in it."""
        self._shop.start()
        self._shop.prepare(scale, lambda _table, _rows: None)
        self._server = EmbeddedMariaDB(self._folder)

    def stop(self) -> None:
        """Its data stay."""
        self._shop.stop()

    def remove(self) -> None:
        """With its data."""
        self._shop.remove()

    @property
    def port(self) -> int:
        """On 127.0.0.1."""
        return self._server.port

    @property
    def password(self) -> str:
        """The reader's."""
        return self._server.password_of(READER)

    @property
    def version(self) -> str:
        """As the server tells it."""
        return str(self.row("SELECT version()")[0])

    def run(self, statement: str) -> int:
        """Rows that it touched."""
        with self._server.connect(DATABASE) as connection, connection.cursor() as cursor:
            return cursor.execute(statement)

    def row(self, query: str) -> tuple[Any, ...]:
        """The first one."""
        with self._server.connect(DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return tuple(cursor.fetchone() or ())


class _Postgres:
    def __init__(self, source: Source) -> None:
        self._source, self.port, self.password = source, source.port, source.password
        self.version = str(source.one("SHOW server_version"))

    def run(self, statement: str) -> int:
        return self._source.run(statement)

    def row(self, query: str) -> tuple[Any, ...]:
        with self._source.connection() as connection:
            return tuple(connection.execute(query.encode()).fetchone() or ())


class _OfMariaDB(Ours):
    dialect = "mariadb"


@dataclass(frozen=True)
class _What:
    name: str
    title: str
    rounds: int
    changes: int = 0
    """Of rows before each round; none of a first load."""

    @property
    def table(self) -> str:
        return "orders" if self.changes else "lineitem"


@dataclass(frozen=True)
class _Side:
    """A database, and how it is read."""

    database: Database
    contender: Ours
    schema: str
    now: str

    def job(self, folder: Path, table: str) -> Job:
        source: Any = self.database
        return Job(folder / self.contender.room, source, (Table(self.schema, table, KEYS[table]),))


def play(postgres: Source, mariadb: MariaDB, folder: Path, rounds: int, changes: int) -> Iterator[Result]:
    """Both workloads. A database whose sync fails, or whose copy does not come to its sums, is out of the workload."""
    sides = (
        _Side(mariadb, _OfMariaDB(MARIADB), DATABASE, "NOW(6)"),
        _Side(_Postgres(postgres), Ours(POSTGRESQL), "public", "clock_timestamp()"),
    )
    folder = folder / NAME
    shutil.rmtree(folder, ignore_errors=True)
    yield _played(_What(LOAD, "first load of `lineitem`, whole process, from two databases", rounds), sides, folder)
    title = f"{changes:,} rows of `orders` have changed, whole process, from two databases"
    yield _played(_What(TICK, title, rounds, changes), sides, folder)
    shutil.rmtree(folder)


def _played(what: _What, sides: tuple[_Side, ...], folder: Path) -> Result:
    begun, load, at = time.monotonic(), os.getloadavg()[0], datetime.now(UTC)
    is_load = not what.changes
    tallies = {side: Tally(notes=(side.database.version,)) for side in sides}
    if not is_load:
        for side, tally in tallies.items():
            tally.attempt(side.contender.name, lambda side=side: _timed(side, folder, what.table, fresh=True))
    for number in range(what.rounds):
        if not is_load:
            _change(sides, at, number, what.changes)
        for side in sides[number % 2 :] + sides[: number % 2]:
            tallies[side].attempt(
                side.contender.name, lambda side=side, number=number: _round(what, tallies[side], side, folder, number)
            )
    size = int(sides[0].database.row(f"SELECT count(*) FROM {what.table}")[0])
    return Result(
        what.name, what.title, what.changes or size, size, commit(), f"{at:%Y-%m-%d %H:%M} UTC",
        (round(load, 1), round(os.getloadavg()[0], 1)), round((time.monotonic() - begun) / 60, 1),
        tuple(tally.of(side.contender.name) for side, tally in tallies.items()),
    )  # fmt: skip


def _round(what: _What, tally: Tally, side: _Side, folder: Path, number: int) -> None:
    measured = _timed(side, folder, what.table, fresh=not what.changes)
    say(f"  {what.name} {number + 1}: {side.contender.name} {measured.wall:.2f} s")
    tally.rounds.append(measured)


def _change(sides: Sequence[_Side], at: datetime, number: int, changes: int) -> None:
    """The servers stay from one run to the next: `at` makes the rows of this one others."""
    for side in sides:
        statement = _CHANGE.format(number=f"{at:%d%H%M}{number}", now=side.now, rows=changes)
        touched = side.database.run(statement)
        if touched != changes:
            raise Failed(f"{side.contender.name}: {touched} rows were changed in place of {changes}")
    time.sleep(GUARD)


def _timed(side: _Side, folder: Path, table: str, *, fresh: bool) -> Round:
    job = side.job(folder, table)
    if fresh:
        shutil.rmtree(job.folder, ignore_errors=True)
        side.contender.prepare(job)
    os.sync()
    measured = side.contender.run(job)
    place = side.contender.copy_of(job, job.tables[0]).place
    prove_sums(place, _SUMS[table], side.database.row(f"SELECT {_SUMS[table]} FROM {table}"))
    return measured
