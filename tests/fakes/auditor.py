"""The rows of the lake, counted and compared with the source."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Comparison, Counting, Duplicates, Outdated, RowHash
from incremental_assets.core.model.row_difference import RowDifference, Values
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from tests.fakes.database import SimulatedDatabase
from tests.fakes.delta_table import DeltaTable
from tests.fakes.placed import FakePlacedRows, place_of
from tests.fakes.quarantine import FakeQuarantine
from tests.fakes.rows import Row, breaks, inside, is_fit, is_live, is_marked, key_of, own_columns, standing, without
from tests.fakes.source import measured


@dataclass(kw_only=True)
class FakeAuditor(FakeQuarantine):
    """Implements `core.ports.LakeAuditor`, and a part of `LakeKeys`, over the tables of a lake."""

    tables: dict[TableId, DeltaTable] = field(default_factory=dict)
    database: SimulatedDatabase | None = None
    """The source, for `compare`."""

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> Counting:
        """Rows and hash per window, of the rows that are there now."""
        rows = self.living(spec)
        return Counting(by, lambda: tuple(measured(spec, window, rows, by) for window in windows))

    def compare(self, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None) -> Comparison:
        """Row by row, against the source that this lake was given."""
        if self.database is None:
            raise ValueError("this lake was given no source to compare with")
        fit = [row for row in self.database.rows(spec.id) if is_fit(row) and not is_marked(spec, row)]
        here, there = (_in(spec, windows, rows) for rows in (fit, self.living(spec)))
        here = [row for row in here if not (breaks(spec, row) and row in self.open_rows(spec))]
        if places is not None:
            here, there = ([row for row in rows if places.holds(place_of(spec, row))] for rows in (here, there))
        missing, extra = without(here, there), without(there, here)
        return Comparison(len(missing), len(extra), _keys(spec, missing), _keys(spec, extra))

    def differing_rows(
        self, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None, most: int
    ) -> tuple[RowDifference, ...]:
        """By key, against the source that this lake was given; what only the lake has there is looked for in all of the source."""
        if self.database is None:
            raise ValueError("this lake was given no source to compare with")
        fit = [row for row in self.database.rows(spec.id) if is_fit(row) and not is_marked(spec, row)]
        here, there = (_in(spec, windows, rows) for rows in (fit, self.living(spec)))
        if places is not None:
            here, there = ([row for row in rows if places.holds(place_of(spec, row))] for rows in (here, there))
        missing, extra = without(here, there), without(there, here)
        found = []
        for key in dict.fromkeys(key_of(spec, row) for row in (*missing, *extra)):
            sources, copies = ([row for row in rows if key_of(spec, row) == key] for rows in (missing, extra))
            newer = [] if sources else [row for row in fit if key_of(spec, row) == key]
            found += [
                RowDifference(_values(spec, source), _values(spec, copy), is_newer=bool(newer))
                for source, copy in zip_longest(sources or newer, copies)
            ]
        return tuple(found[:most])

    def outdated(self, spec: TableSpec, windows: Sequence[Window]) -> Outdated:
        """Rows under the key of a row of the source that cannot land."""
        if self.database is None:
            raise ValueError("this lake was given no source to compare with")
        unfit = [row for row in _in(spec, windows, self.database.rows(spec.id)) if not is_fit(row)]
        keys = {key_of(spec, row) for row in unfit}
        found = [row for row in self.living(spec) if key_of(spec, row) in keys]
        return Outdated(len(found), _keys(spec, found))

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> FakePlacedRows:
        """Those that are not marked as gone; of versions the latest are counted."""
        rows = self.tables[spec.id].rows if spec.id in self.tables else ()
        every = [row for row in rows if is_live(row)]
        return FakePlacedRows(spec, _in(spec, windows, every), _in(spec, windows, standing(spec, rows)))

    def readable(self, _: TableSpec, key: str) -> str:
        """Without Python's signs."""
        return ", ".join(str(part) for part in ast.literal_eval(key))

    def held_places(self, spec: TableSpec) -> frozenset[int]:
        """Of no test that has no log."""
        raise NotImplementedError

    def duplicates(self, spec: TableSpec) -> Duplicates:
        """Keys held more than once."""
        keys = [key_of(spec, row) for row in self.living(spec)]
        twice = {key: keys.count(key) for key in keys if keys.count(key) > 1}
        return Duplicates(len(twice), sum(twice.values()) - len(twice), tuple(str(key) for key in twice)[:10])

    def count(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[int, ...]:
        """Rows per window."""
        return tuple(len(_in(spec, (window,), self.living(spec))) for window in windows)

    def living(self, spec: TableSpec) -> list[Row]:
        """Of those that are not marked as gone."""
        rows = self.tables[spec.id].rows if spec.id in self.tables else ()
        return [own_columns(row) for row in (standing(spec, rows) if spec.deletes.marks else rows)]

    def landed(self, table: TableId) -> list[Row]:
        """The source's columns of every row."""
        return [own_columns(row) for row in self.tables[table].rows] if table in self.tables else []


def _in(spec: TableSpec, windows: Sequence[Window], rows: Sequence[Row]) -> list[Row]:
    return [
        row
        for row in rows
        if spec.read_by is None
        or any(inside(spec, window, row, nulls=window == Window(None, None)) for window in windows)
    ]


def _values(spec: TableSpec, row: Row | None) -> Values | None:
    if row is None:
        return None
    return tuple(None if row.get(name) is None else str(row[name]) for name in spec.shape.names)


def _keys(spec: TableSpec, rows: Sequence[Row]) -> tuple[str, ...]:
    # A row without a key is named by its hash.
    shown = (key_of(spec, row) or (place_of(spec, row),) for row in rows[:10])
    return tuple(", ".join(str(part) for part in key) for key in shown)
