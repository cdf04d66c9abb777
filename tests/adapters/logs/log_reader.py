"""Reads the log of a stand into segments, and dies where a test wants it to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.postgresql.peek import peek
from incremental_assets.adapters.logs.postgresql.reading import Log, Range, read_on
from incremental_assets.adapters.logs.segments.shelf import Shelf
from tests.adapters.logs.stand import LogStand, told


class Killed(BaseException):
    """The process is gone: nothing after this moment is done."""


class Reader:
    """Reads the log of a stand into a lake."""

    def __init__(self, stand: LogStand, lake: Path) -> None:
        self.stand = stand
        self.shelf = Shelf(lake / "_log" / "shop")
        self.log = Log(stand.slot, peek, self.shelf, lake)
        self.followed: dict[int, Followed] = {}

    def read(self, moment: Callable[[str], None] = lambda _: None) -> Range:
        with self.stand.asked() as asked:
            return read_on(asked, self.log, self.followed, moment)

    def follow(self, table: str, definition: str, *key: str) -> int:
        oid = self.stand.publish(table, definition)
        self.followed[oid] = Followed(oid, key or ("id",))
        return oid

    def rows(self, oid: int, position: int = 0) -> list[dict[str, object]]:
        found = [table for manifest in self.shelf.after(position) for table in self.shelf.rows(manifest, oid)]
        return [told(row) for table in found for row in table.to_pylist()]

    def transactions(self) -> pa.Table:
        return pa.concat_tables(self.shelf.transactions(each) for each in self.shelf.after(0))
