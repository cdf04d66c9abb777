"""A shop whose tables are read from the log, whichever database it is of: what is done to its source, and what its copies then are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.planning.report import SyncReport
from tests.conformance.stand import Stand
from tests.shop import Place

P = TypeVar("P", bound=Place)


@dataclass
class LogShop(ABC, Generic[P]):
    """`orders` is read from the log; more tables may be."""

    stand: Stand[P]

    @abstractmethod
    def writing(self) -> Any:
        """A connection of one who may do everything, with a transaction open from its first statement."""

    def execute(self, *statements: str) -> None:
        """Each in a transaction of its own."""
        self.stand.execute(*statements)

    def together(self, *statements: str) -> None:
        """In one transaction."""
        with closing(self.writing()) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

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
