"""Which keys of a table have changed in the source and not yet in its copy, by the places on which both are compared."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.row_texts import row_hash
from incremental_assets.adapters.logs.changes import CODES, XID, Change, Offsets, change_codes
from incremental_assets.adapters.logs.gathering import changed_behind
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.log_of_source import Copy, Source
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class ChangedKeys:
    """Implements `core.ports.Behind`: changes behind a copy's position, and those before it that the source did not show yet when the comparison began.

    Such a commit waits for a standby: the log has it, and so has the copy, and a snapshot of the source may lack it.
    """

    log: Source
    spec: TableSpec
    at: LogPosition
    shown: Snapshot

    def among(self, places: AbstractSet[int]) -> frozenset[int]:
        """Those at which a row has changed; all of them where the table was truncated."""
        found = set[int]()
        for rows in self._rows():
            if (change_codes(rows) == CODES[Change.TRUNCATE]).any():
                return frozenset(places)
            found |= places & set(places_of(self.spec, rows))
        return frozenset(found)

    def most(self) -> int | None:
        """How many changes there are; None where one of them has emptied the table."""
        found = 0
        for rows in self._rows():
            if (change_codes(rows) == CODES[Change.TRUNCATE]).any():
                return None
            found += len(rows)
        return found

    def _rows(self) -> Iterator[pa.Table]:
        """Read up to now, into segments, as any sync of the source does."""
        self.log.read_to_now(Copy(self.spec, self.at.number, self.at.lsn or 0))
        yield from changed_behind(self.log.shelf, self.spec, self.at)
        yield from self._hidden()

    def _hidden(self) -> Iterator[pa.Table]:
        """What the copy may have, and a snapshot of the source not."""
        shelf = self.log.shelf
        for name in shelf.names():
            server, xids = _transactions(shelf, name)
            hidden = self.shown.hides(xids) if server == self.at.server else []
            if hidden:
                for rows in shelf.rows(shelf.manifest(name), self.at.number):
                    yield rows.filter(pc.is_in(rows.column(XID), pa.array(hidden, pa.int64())))


@lru_cache(maxsize=65_536)
def _transactions(shelf: Shelf, name: str) -> tuple[str, Offsets]:
    """Of a segment, which never changes: whose log it is of, and the numbers of its transactions. Each table of a source asks for all of them."""
    manifest = shelf.manifest(name)
    server = manifest.standing.server
    return f"{server.system}/{server.timeline}", np.array(shelf.transactions(manifest).column("xid"))


def places_of(spec: TableSpec, rows: pa.Table) -> list[int]:
    """Where the keys of rows lie; of one that no copy can hold there is none."""
    by_name = {each.name: each for each in spec.columns}
    whole = rows.select(list(spec.key)).drop_null()
    found = [_comparable(by_name[name], whole.column(name)) for name in spec.key]
    if placed_by_value(spec):
        return [int(value) for value in found[0][1].to_pylist()]
    columns = [column for column, _ in found]
    return [row_hash(columns, values) for values in zip(*(values.to_pylist() for _, values in found), strict=True)]


def _comparable(column: Column, values: pa.ChunkedArray) -> tuple[Column, pa.ChunkedArray]:
    """Days and moments as the numbers that their canonical texts are: Python has none before the year 1 and none beyond 9999."""
    if pa.types.is_date32(values.type):
        return replace(column, spark_type="int"), values.cast(pa.int32())
    if pa.types.is_timestamp(values.type):
        return replace(column, spark_type="bigint"), values.cast(pa.int64())
    return column, values
