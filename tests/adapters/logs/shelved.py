"""A shop whose tables are read from the log: its source, its copies, and syncs that die on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psycopg

from incremental_assets.adapters.logs.postgresql.logged import Logged
from incremental_assets.adapters.logs.postgresql.source_log import SourceLog
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.planning.report import SyncReport
from tests.conformance.stand import Stand
from tests.shop import Shop

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from incremental_assets.demo.postgres import EmbeddedPostgres

SLOT = "shop_log"
ORDERS = "orders (id int PRIMARY KEY, status text, total numeric(10,2), note text)"


class Died(BaseException):
    """The process has ended here, as far as the source and the disk can tell."""


@dataclass
class LoggedShop:
    """`orders` is published and read from the log; more tables may be."""

    stand: Stand
    slot: str

    @classmethod
    def open(
        cls,
        server: EmbeddedPostgres,
        database: str,
        folder: Path,
        spark: SparkSession,
        *tables: str,
        more: str = "",
        published: str = "",
    ) -> LoggedShop:
        """Each table by its definition; the first is `orders`. `more`: what is configured of each beside the log; `published`: what the publication is made with."""
        names = [table.split()[0] for table in tables]
        slot = f"{SLOT}_{database}"
        terms = f"capture: log, {more}" if more else "capture: log"
        entries = "\n".join(f"- {{table: public.{name}, {terms}}}" for name in names)
        options = f"unlisted: ignore\nlog: {{slot: {slot}, publication: shop}}"
        shop = Shop.open(server, database, folder, entries, options=options)
        shop.execute(
            "ALTER ROLE reader REPLICATION",
            *(f"CREATE TABLE {table}" for table in tables),
            f"CREATE PUBLICATION shop FOR TABLE {', '.join(names)} {published}",
            f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')",
        )
        return cls(Stand(shop, spark), slot)

    def execute(self, *statements: str) -> None:
        self.stand.execute(*statements)

    def set_standbys(self, names: str) -> None:
        """Commits wait for one of these from now on."""
        with psycopg.connect(self.stand.shop.postgres.dsn(self.stand.shop.database), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'".encode())
            connection.execute("SELECT pg_reload_conf()")

    def outside(self, statement: str) -> None:
        """One that may be in no transaction."""
        with psycopg.connect(self.stand.shop.postgres.dsn(self.stand.shop.database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def together(self, *statements: str) -> None:
        """In one transaction."""
        with self.stand.shop.connect() as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def land(self, name: str = "orders", **options: Any) -> SyncReport:
        return self.stand.land(name, **options)[name]

    def refused(self, name: str = "orders", **options: Any) -> str:
        """What a sync says that cannot."""
        error = self.stand.sync(name, **options)[name].error
        assert error is not None
        return str(error)

    def assert_equal(self, *names: str) -> None:
        for name in names or ("orders",):
            self.stand.assert_equal(name)

    def assert_replayed(self) -> None:
        """The changes of `orders` that the copy has, one after the other, come to the source's table, and each is there once."""
        rows, places = dict[Any, tuple[Any, ...]](), set[tuple[int, int]]()
        for lsn, number, op, *row in self.changes():
            assert (lsn, number) not in places or op == "r"
            places.add((lsn, number))
            assert op == "t" or (row[0] in rows) is (op in "ud"), (op, row)
            if op == "t":
                rows.clear()
            elif op == "d":
                del rows[row[0]]
            else:
                rows[row[0]] = tuple(row)
        assert sorted(rows.values(), key=repr) == self.stand.source("SELECT * FROM orders")

    def changes(self, *names: str) -> list[tuple[Any, ...]]:
        """The copy of `orders` in the order of its changes: the place of each, its letter, and these columns, or all."""
        own = ("_commit_lsn", "_change_number", "_op")
        chosen = names or tuple(column.name for column in self.stand.spec("orders").source_columns)
        return sorted(self.stand.copy("orders", *own, *chosen), key=lambda row: row[:2])

    def at(self, name: str = "orders") -> LogPosition:
        with self.stand.runtime() as runtime:
            state = runtime.checkpoints.position(self.stand._id(name)).state
        assert state is not None
        assert isinstance(state.position, LogPosition)
        return state.position

    def shelf(self) -> Shelf:
        """The segments."""
        return Shelf(self.stand.lake / "_log" / "shop")

    def read_to(self) -> int:
        """Up to where segments are."""
        standing = self.shelf().standing()
        return standing.position if standing else 0

    def confirmed(self) -> str:
        ((found,),) = self.stand.shop.rows(
            f"SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = '{self.slot}'"
        )
        return str(found)


@contextmanager
def at_moments(moment: Callable[[str], None]) -> Iterator[None]:
    """It is called before each step of a read of the log in this block, with the step's name."""
    original: Callable[..., None] = Logged.__init__

    def made(self: Logged, *arguments: Any) -> None:
        self.log = SourceLog(*arguments, moment=moment)

    Logged.__init__ = made  # type: ignore[method-assign]
    try:
        yield
    finally:
        Logged.__init__ = original  # type: ignore[method-assign]


@contextmanager
def dying(number: int, moments: list[str]) -> Iterator[None]:
    """Reads of the log in this block end at the step of this number, by a process that is gone."""

    def moment(name: str) -> None:
        moments.append(name)
        if len(moments) == number:
            raise Died(name)

    with at_moments(moment):
        yield


Open = Callable[..., LoggedShop]
"""Opens the shop of a test with these tables; with `orders` alone where none is named."""
