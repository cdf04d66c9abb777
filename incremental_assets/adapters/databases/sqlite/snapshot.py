"""One read transaction: writes the rows of a plan's window to a local file, and counts them."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from incremental_assets.adapters.databases.condition import EVERY, Condition
from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.local_rows import Tally, check_unaltered, selected
from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.spooled_rows import write_rows
from incremental_assets.adapters.databases.sqlite.catalogue import read_catalogue
from incremental_assets.adapters.databases.sqlite.cursor_values import CursorValues
from incremental_assets.adapters.databases.sqlite.definition import check_same_file
from incremental_assets.adapters.databases.sqlite.keys import read_keys
from incremental_assets.adapters.databases.sqlite.rows import raw, read_rows, with_kept_out
from incremental_assets.adapters.databases.sqlite.sql import chosen, comparable, identifier, inside, misfitting
from incremental_assets.adapters.databases.sqlite.window_queries import fingerprint, placed, value_of
from incremental_assets.adapters.databases.whole import Counted, check_whole
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.core.captures.database.reading import fingerprint_window
from incremental_assets.core.model.table import NullPolicy, cursor_of
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek

_IN_SQL = 500
"""Values in one condition; SQLite takes a thousand."""


@contextmanager
def open_snapshot(
    connection: sqlite3.Connection, file: str, plan: SyncPlan, seek: Seek | None = None
) -> Iterator[Numbers]:
    """The file with its rows is there until the block ends; the transaction is over before it begins. Raises SourceRefused.

    `file`: see `FileSchema`. `seek`: is shown all rows first, and says which of them are read.
    """
    spec = plan.spec
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
    try:
        connection.execute("BEGIN")
        try:
            check_same_file(spec, file)
            check_unaltered(spec, read_catalogue(connection, spec.id.source, (spec.id.schema,), spec.id.name))
            differing = seek(placed(connection, spec, plan.reading.compared)) if seek else None
            plan = plan.at(differing.places) if differing else plan
            tally, window = Tally(plan, comparable), fingerprint_window(plan)
            held = CursorValues.of(connection, spec) if spec.read_by is not None else CursorValues()
            held.check(spec)
            # Under `nulls: skip` too a value that is no stamp goes to quarantine.
            skipped = held.misfits and not plan.request.mode.reads_again
            wanted = rows_of(plan) | misfitting(spec) if skipped else rows_of(plan)
            read = Counted(read_rows(connection, spec, wanted))
            rows = with_kept_out(connection, spec, selected(plan, iter(read)))
            write_rows(folder / "rows.parquet", spec, tally.seen(rows, partial(raw, spec)))
            check_whole(spec.shape, read.count, partial(_counted, connection, plan, wanted))
            numbers = Numbers(
                rows=tally.rows,
                rejected=tally.rejected,
                nulls=held.nulls,
                highest=value_of(spec, tally.highest),
                due=value_of(spec, tally.due),
                fingerprint=fingerprint(connection, spec.without_masked, window) if window else None,
                visible="",
                handle=folder / "rows.parquet",
                keys=read_keys(connection, spec) if plan.reading.finds_gone else None,
                selected=differing,
            )
        finally:
            connection.execute("ROLLBACK")
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _counted(connection: sqlite3.Connection, plan: SyncPlan, rows: Condition) -> int:
    """The rows that the plan reads, by the library's own count."""
    rows = chosen(plan.spec, rows)
    sql = f"SELECT count(*) FROM {identifier(plan.spec.id.name)} WHERE {rows.sql}"
    return int(connection.execute(sql, rows.values).fetchone()[0])


def rows_of(plan: SyncPlan) -> Condition:
    """The condition for the rows that the plan reads; of its places only up to 500 numbers, as others are sorted out row by row. A backfill reads no rows without a cursor, as every sync reads them anyway."""
    spec = plan.spec
    if spec.read_by is None:
        return EVERY
    skips = cursor_of(spec).nulls is NullPolicy.SKIP or plan.request.mode.reads_again
    rows = inside(spec, plan.reading.window, nulls=not skips)
    # Of more of them each row that is read is looked at.
    if plan.request.places is None or not placed_by_value(spec) or len(plan.request.places.numbers or ()) > _IN_SQL:
        return rows
    numbers = tuple(sorted(plan.request.places.numbers or ()))
    return rows & Condition(f"{identifier(spec.key[0])} IN ({', '.join('?' * len(numbers))})", numbers)
