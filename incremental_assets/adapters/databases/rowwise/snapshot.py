"""One snapshot: writes the rows of a plan's window to a local file, and counts them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.row_texts import place
from incremental_assets.adapters.databases.rowwise.queries import fingerprint, read_keys, value_of, without
from incremental_assets.adapters.databases.rowwise.row_dialect import RowConnection, RowDialect
from incremental_assets.adapters.databases.rowwise.rows import Read, raw, read_rows
from incremental_assets.adapters.databases.rowwise.sql import rows_of
from incremental_assets.adapters.databases.spooled_rows import write_rows
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.state import Fingerprint
from incremental_assets.core.model.table import FuturePolicy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan


@contextmanager
def open_snapshot(dialect: RowDialect, connection: RowConnection, plan: SyncPlan) -> Iterator[Numbers]:
    """The file with its rows is there until the block ends; the snapshot is over before it begins. Raises SourceRefused."""
    spec = plan.spec
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
    try:
        with connection.snapshot():
            _check_unaltered(dialect, connection, spec)
            tally = _Tally(plan)
            rows = _sought(plan, read_rows(dialect, connection, spec, rows_of(dialect, plan)))
            write_rows(folder / "rows.parquet", spec, tally.seen(rows))
            numbers = Numbers(
                rows=tally.rows,
                rejected=tally.rejected,
                nulls=without(dialect, connection, spec) if spec.is_incremental else 0,
                highest=value_of(spec, tally.highest) if spec.is_incremental else None,
                due=value_of(spec, tally.due) if spec.is_incremental else None,
                fingerprint=_fingerprint(dialect, connection, plan),
                visible="",
                handle=folder / "rows.parquet",
                keys=read_keys(dialect, connection, spec) if plan.compares_keys else None,
            )
            # What was altered meanwhile is read in its new form: a snapshot of rows need not be one of the catalogue.
            _check_unaltered(dialect, connection, spec)
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def edge(value: CursorValue | None) -> Any:
    """A cursor as a converted value compares with it; None where nothing lies below it."""
    if value is None or not value.is_finite:
        return None
    if value.type is CursorType.INTEGER:
        return int(value.text)
    return value.moment().date() if value.type is CursorType.DATE else value.moment()


def _sought(plan: SyncPlan, rows: Iterator[Read]) -> Iterator[Read]:
    """Those at the places of the plan, where it names some."""
    places = plan.request.places
    return rows if places is None else (row for row in rows if places.holds(place(plan.spec, row.values)))


def _fingerprint(dialect: RowDialect, connection: RowConnection, plan: SyncPlan) -> Fingerprint | None:
    """Of what the next sync would read of this snapshot; a backfill leaves that of the last sync as it is."""
    if not plan.spec.is_incremental or plan.request.mode.reads_again:
        return None
    window = Window(plan.fingerprint_lower, None).clamp_upper(plan.window.upper)
    return fingerprint(dialect, connection, plan.spec, window)


class _Tally:
    """Counts the rows that pass, and gives each its flags."""

    def __init__(self, plan: SyncPlan) -> None:
        self._spec = plan.spec
        self.rows = self.rejected = 0
        self.highest: Any = None
        self.due: Any = None
        self._late = edge(plan.late_below)
        self._ahead = edge(plan.future_above) if plan.spec.future is FuturePolicy.QUARANTINE else None
        self._column = plan.spec.cursor.column if plan.spec.cursor else ""
        self._by_day = plan.spec.cursor is not None and plan.spec.cursor.type is CursorType.DATE

    def seen(self, rows: Iterator[Read]) -> Iterator[tuple[Any, ...]]:
        """What is written of each."""
        for row in rows:
            at, column, reason = self._day(row.cursor), row.column, row.reason
            if self._ahead is not None and at is not None and at >= self._ahead:
                self.due = at if self.due is None else min(self.due, at)
                column, reason = column or self._column, reason or "stamped past the source's clock"
            self.rows += 1
            self.rejected += bool(column)
            if at is not None:
                self.highest = at if self.highest is None else max(self.highest, at)
            late = self._late is not None and at is not None and at < self._late
            yield (*row.values, column or None, reason or None, raw(self._spec, row) if column else None, late)

    def _day(self, at: Any) -> Any:
        return at.date() if self._by_day and isinstance(at, datetime) else at


def _check_unaltered(dialect: RowDialect, connection: RowConnection, spec: TableSpec) -> None:
    shapes = dialect.catalogue(connection, spec.id.source, (spec.id.schema,), spec.id.name)
    found = [shape.without(spec.shape.left_out) for shape in shapes]
    if not found or (found[0].columns, found[0].primary_key) != (spec.columns, spec.shape.primary_key):
        what = "its columns or keys" if found else "it is gone"
        raise SourceRefused(
            f"{spec.id}: the table was altered in the source while this sync was about to read it ({what}), so nothing was written; "
            "run the sync again, it reads the catalogue again"
        )


def since(found: CursorValue, clock: datetime, zone: Any) -> float:
    """Seconds from a stamp, which is taken for one of the zone where it has none."""
    moment = found.moment()
    return (clock - (moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC))).total_seconds()
