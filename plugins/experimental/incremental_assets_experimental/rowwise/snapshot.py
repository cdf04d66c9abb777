"""One snapshot: writes the rows of a plan's window to a local file, and counts them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.local_rows import Tally, check_unaltered, selected
from incremental_assets.adapters.databases.spooled_rows import write_rows
from incremental_assets.adapters.databases.whole import Counted, check_whole
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.core.captures.database.reading import fingerprint_window
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets_experimental.rowwise.queries import counted, fingerprint, read_keys, value_of, without
from incremental_assets_experimental.rowwise.row_dialect import RowConnection, RowDialect
from incremental_assets_experimental.rowwise.rows import raw, read_rows
from incremental_assets_experimental.rowwise.sql import rows_of


@contextmanager
def open_snapshot(dialect: RowDialect, connection: RowConnection, plan: SyncPlan) -> Iterator[Numbers]:
    """The file with its rows is there until the block ends; the snapshot is over before it begins. Raises SourceRefused."""
    spec, window = plan.spec, fingerprint_window(plan)
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
    try:
        with connection.snapshot() as one:
            check_unaltered(spec, shapes_of(dialect, connection, spec))
            tally = Tally(plan, _comparable)
            condition = rows_of(dialect, plan)
            read = Counted(read_rows(dialect, connection, spec, condition))
            write_rows(folder / "rows.parquet", spec, tally.seen(selected(plan, iter(read)), partial(raw, spec)))
            if one:
                check_whole(spec.shape, read.count, partial(counted, dialect, connection, spec, condition))
            numbers = Numbers(
                rows=tally.rows,
                rejected=tally.rejected,
                nulls=without(dialect, connection, spec) if spec.read_by is not None else 0,
                highest=value_of(spec, tally.highest) if spec.read_by is not None else None,
                due=value_of(spec, tally.due) if spec.read_by is not None else None,
                fingerprint=fingerprint(dialect, connection, spec, window) if window else None,
                visible="",
                handle=folder / "rows.parquet",
                keys=read_keys(dialect, connection, spec, in_one_view=one) if plan.reading.finds_gone else None,
            )
            # What was altered meanwhile is read in its new form: a snapshot of rows need not be one of the catalogue.
            check_unaltered(spec, shapes_of(dialect, connection, spec))
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def shapes_of(dialect: RowDialect, connection: RowConnection, spec: TableSpec) -> tuple[TableShape, ...]:
    """The table as the catalogue shows it; none where it is gone."""
    return dialect.catalogue(connection, spec.id.source, (spec.id.schema,), spec.id.name)


def _comparable(value: CursorValue) -> Any:
    """A cursor as a converted value compares with it; None where nothing lies below it."""
    if not value.is_finite:
        return None
    if value.type is CursorType.INTEGER:
        return int(value.text)
    return value.moment().date() if value.type is CursorType.DATE else value.moment()


def since(found: CursorValue, clock: datetime, zone: Any) -> float:
    """Seconds from a stamp, which is taken for one of the zone where it has none."""
    moment = found.moment()
    return (clock - (moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC))).total_seconds()
