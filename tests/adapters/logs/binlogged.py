"""A shop in a MariaDB or MySQL whose tables are read from the binlog: its source, its copies, and syncs that die on the way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.logs.mysql.logged import Logged
from incremental_assets.adapters.logs.mysql.source_log import SourceLog
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.demo.mariadb import EmbeddedMariaDB
from incremental_assets.demo.mysql import EmbeddedMySQL
from tests.adapters.logs.shelved import Died
from tests.conformance.stand import Stand
from tests.conformance.worlds import MariaWorld, MySQLWorld

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "orders (id int PRIMARY KEY, status varchar(20), total decimal(10,2), note text)"
ROWS = {
    "log-bin": "binlog",
    "server-id": "1",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "innodb-flush-log-at-trx-commit": "2",
}
NUMBERED = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}
"""What MySQL needs besides."""
_numbers = itertools.count(1)


def world_of(server: EmbeddedMariaDB, folder: Path) -> MariaWorld:
    """A database of its own, whose reader may read the log."""
    kind = MySQLWorld if isinstance(server, EmbeddedMySQL) else MariaWorld
    world = kind(server, f"binlog_{next(_numbers)}", folder)
    world.prepare()
    world.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT, RELOAD ON *.* TO reader@'127.0.0.1'")
    return world


@dataclass
class BinlogShop:
    """`orders` is read from the log; more tables may be."""

    stand: Stand[MariaWorld]

    @classmethod
    def open(
        cls, server: EmbeddedMariaDB, folder: Path, spark: SparkSession, *tables: str, more: str = ""
    ) -> BinlogShop:
        """Each table by its definition; the first is `orders`. `more`: what is configured of each beside the log."""
        world = world_of(server, folder)
        terms = f"capture: log, {more}" if more else "capture: log"
        names = [table.split()[0] for table in tables]
        world.configure("\n".join(f"- {{table: {world.database}.{name}, {terms}}}" for name in names))
        world.execute(*(f"CREATE TABLE {table}" for table in tables))
        return cls(Stand(world, spark))

    def execute(self, *statements: str) -> None:
        """Each in a transaction of its own."""
        self.stand.shop.execute(*statements)

    def together(self, *statements: str) -> None:
        """In one transaction."""
        with closing(self.stand.shop.session()) as session:
            session.run(*statements)
            session.commit()

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

    def at(self, name: str = "orders") -> LogPosition:
        with self.stand.runtime() as runtime:
            state = runtime.checkpoints.position(self.stand._id(name)).state
        assert state is not None
        assert isinstance(state.position, LogPosition)
        return state.position

    def shelf(self) -> Shelf:
        """The segments."""
        return Shelf(self.stand.lake / "_log" / "shop")


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


OpenBinlog = Callable[..., BinlogShop]
"""Opens the shop of a test with these tables; with `orders` alone where none is named."""
