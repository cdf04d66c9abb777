"""One read transaction: writes the rows of a plan's window to a local file, and counts them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from incremental_assets.adapters.databases.condition import EVERY, Condition
from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.row_texts import place
from incremental_assets.adapters.databases.spooled_rows import write_rows
from incremental_assets.adapters.databases.sqlite.catalogue import read_catalogue
from incremental_assets.adapters.databases.sqlite.keys import read_keys
from incremental_assets.adapters.databases.sqlite.rows import Row, raw, read_rows
from incremental_assets.adapters.databases.sqlite.sql import comparable, identifier, inside
from incremental_assets.adapters.databases.sqlite.window_queries import fingerprint, placed, value_of, without
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.table import FuturePolicy, NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek

_IN_SQL = 500
"""Values in one condition; SQLite takes a thousand."""


@contextmanager
def open_snapshot(connection: sqlite3.Connection, plan: SyncPlan, seek: Seek | None = None) -> Iterator[Numbers]:
    """The file with its rows is there until the block ends; the transaction is over before it begins. Raises SourceRefused.

    `seek`: is shown all rows first, and says which of them are read.
    """
    spec = plan.spec
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
    try:
        connection.execute("BEGIN")
        try:
            _check_unaltered(connection, spec)
            sought = seek(placed(connection, spec, ())) if seek else None
            plan = plan.at(sought.places) if sought else plan
            tally = _Tally(plan)
            write_rows(
                folder / "rows.parquet", spec, tally.seen(_sought(plan, read_rows(connection, spec, rows_of(plan))))
            )
            numbers = Numbers(
                rows=tally.rows,
                rejected=tally.rejected,
                nulls=without(connection, spec) if spec.is_incremental else 0,
                highest=value_of(spec, tally.highest),
                due=value_of(spec, tally.due),
                fingerprint=_fingerprint(connection, plan),
                visible="",
                handle=folder / "rows.parquet",
                keys=read_keys(connection, spec) if plan.compares_keys else None,
                sought=sought,
            )
        finally:
            connection.execute("ROLLBACK")
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def rows_of(plan: SyncPlan) -> Condition:
    """Which rows the plan reads. A backfill's window holds no row without a cursor; every sync reads those anyway."""
    spec = plan.spec
    if not spec.is_incremental:
        return EVERY
    skips = cursor_of(spec).nulls is NullPolicy.SKIP or plan.request.mode.reads_again
    rows = inside(spec, plan.window, nulls=not skips)
    # Of more of them each row that is read is looked at.
    if plan.request.places is None or not placed_by_value(spec) or len(plan.request.places.numbers or ()) > _IN_SQL:
        return rows
    numbers = tuple(sorted(plan.request.places.numbers or ()))
    return rows & Condition(f"{identifier(spec.key[0])} IN ({', '.join('?' * len(numbers))})", numbers)


def _sought(plan: SyncPlan, rows: Iterator[Row]) -> Iterator[Row]:
    """Those at the places of the plan, where it names some."""
    places = plan.request.places
    if places is None:
        return rows
    # A row that no copy can hold takes part in no comparison, and would else never come to quarantine.
    unfit = plan.compares_rows
    return (row for row in rows if places.holds(place(plan.spec, row.values)) or (unfit and row.is_rejected))


def _fingerprint(connection: sqlite3.Connection, plan: SyncPlan) -> Any:
    """Of what the next sync would read of this snapshot; a backfill leaves that of the last sync as it is."""
    if not plan.spec.is_incremental or plan.request.mode.reads_again:
        return None
    window = Window(plan.fingerprint_lower, None).clamp_upper(plan.window.upper)
    return fingerprint(connection, plan.spec, window)


class _Tally:
    """Counts the rows that pass, and gives each its flags."""

    def __init__(self, plan: SyncPlan) -> None:
        self._spec = plan.spec
        self.rows = self.rejected = 0
        self.highest: Any = None
        self.due: Any = None
        self._late = None if plan.late_below is None else comparable(plan.late_below)
        quarantines = plan.spec.future is FuturePolicy.QUARANTINE and plan.future_above is not None
        self._ahead = comparable(_some(plan.future_above)) if quarantines else None
        self._column = plan.spec.cursor.column if plan.spec.cursor else ""

    def seen(self, rows: Iterator[Row]) -> Iterator[tuple[Any, ...]]:
        """What is written of each."""
        for row in rows:
            at, column, reason = row.cursor, row.column, row.reason
            if self._ahead is not None and at is not None and at >= self._ahead:
                self.due = at if self.due is None else min(self.due, at)
                column, reason = column or self._column, reason or "stamped past the source's clock"
            self.rows += 1
            self.rejected += bool(column)
            if at is not None:
                self.highest = at if self.highest is None else max(self.highest, at)
            late = self._late is not None and at is not None and at < self._late
            yield (*row.values, column or None, reason or None, raw(self._spec, row) if column else None, late)


def _check_unaltered(connection: sqlite3.Connection, spec: TableSpec) -> None:
    shapes = read_catalogue(connection, spec.id.source, (spec.id.schema,), spec.id.name)
    found = [shape.without(spec.shape.left_out) for shape in shapes]
    if not found or (found[0].columns, found[0].primary_key) != (spec.columns, spec.shape.primary_key):
        what = "its columns or keys" if found else "it is gone"
        raise SourceRefused(
            f"{spec.id}: the table was altered in the source while this sync was about to read it ({what}), so nothing was written; "
            "run the sync again, it reads the catalogue again"
        )


def _some(value: CursorValue | None) -> CursorValue:
    if value is None:
        raise ValueError("a quarantine of the future without a limit")
    return value
