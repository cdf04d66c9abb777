"""One transaction with one view: the rows of a plan's window, written to a file of ours as they arrive, and counted on the way."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.condition import EVERY, Condition
from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.local_rows import check_unaltered
from incremental_assets.adapters.databases.mysql.catalogue import read_catalogue
from incremental_assets.adapters.databases.mysql.columns import Sent, arrow_type, converted, printed
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.sql import beyond, effective, has_cursor, inside, relation
from incremental_assets.adapters.databases.mysql.types import travel
from incremental_assets.adapters.databases.mysql.window_queries import (
    at_places,
    fingerprint,
    placed_rows,
    read_keys,
    unlandable,
    value_of,
    without,
)
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.adapters.spark.own_names import LATE, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import FuturePolicy, NullPolicy, TableSpec, cursor_of
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek

_AT_ONCE = 20_000
"""Rows in memory, and in a group of the file."""
_OURS = 3
"""Columns that we ask for before the table's own: the cursor, whether it is late, whether it lies ahead."""


@contextmanager
def open_snapshot(connection: Connection, plan: SyncPlan, seek: Seek | None = None) -> Iterator[Numbers]:
    """The file with its rows is there until the block ends; the transaction is over before it begins. Raises SourceRefused.

    `seek`: is shown all rows first, and says which of them are read.
    """
    spec = plan.spec
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
    try:
        with connection.snapshot():
            # From its first question to its end no statement can alter the table; what was altered before, the catalogue shows.
            connection.execute(f"SELECT 1 FROM {relation(spec.id)} LIMIT 1")
            check_unaltered(spec, read_catalogue(connection, spec.id.source, (spec.id.schema,), spec.id.name))
            tally = _Tally(spec)
            # Its rows may take longer than any question.
            connection.limit(None)
            sought = seek(placed_rows(connection, spec, ())) if seek else None
            plan = plan.at(sought.places) if sought else plan
            window = plan.fingerprint_window
            _write(folder / "rows.parquet", plan, connection, tally)
            numbers = Numbers(
                rows=tally.rows,
                rejected=tally.rejected,
                nulls=without(connection, spec) if spec.is_incremental else 0,
                highest=tally.highest,
                due=tally.due,
                fingerprint=fingerprint(connection, spec, window) if window else None,
                visible="",
                keys=read_keys(connection, spec) if plan.compares_keys else None,
                handle=folder / "rows.parquet",
                sought=sought,
            )
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def arrow_schema(spec: TableSpec) -> pa.Schema:
    """Of the file: the columns by place, then the four flags."""
    columns = [(f"c{place}", arrow_type(column)) for place, column in enumerate(spec.columns)]
    flags = [(name, pa.string()) for name in (REJECT_COLUMN, REJECT_REASON, RAW)]
    return pa.schema([*columns, *flags, (LATE, pa.bool_())])


@dataclass
class _Tally:
    """Counts the rows that pass."""

    spec: TableSpec
    rows: int = 0
    rejected: int = 0
    highest: CursorValue | None = None
    due: CursorValue | None = None

    def count(self, stamps: Sequence[Sent], ahead: Sequence[bool], rejected: int) -> None:
        """The rows of one batch."""
        self.rows += len(stamps)
        self.rejected += rejected
        if not self.spec.is_incremental:
            return
        self.highest = _end(max, self.highest, self._end_of(max, stamps))
        early = [stamp for stamp, is_ahead in zip(stamps, ahead, strict=True) if is_ahead]
        self.due = _end(min, self.due, self._end_of(min, early))

    def _end_of(self, function: Any, stamps: Sequence[Sent]) -> CursorValue | None:
        """Texts of one column have one form, so that the order of moments is theirs; numbers are compared as such."""
        key = int if cursor_of(self.spec).type is CursorType.INTEGER else bytes
        found = function((stamp for stamp in stamps if stamp is not None), key=key, default=None)
        return None if found is None else value_of(self.spec, found.decode())


def _end(function: Any, *values: CursorValue | None) -> CursorValue | None:
    found: CursorValue | None = function((value for value in values if value is not None), default=None)
    return found


def _write(path: Path, plan: SyncPlan, connection: Connection, tally: _Tally) -> None:
    schema, query = arrow_schema(plan.spec), _query(plan)
    with pq.ParquetWriter(path, schema) as writer:
        for rows in connection.batches(query.sql, query.values, _AT_ONCE):
            writer.write_batch(_batch(schema, plan.spec, rows, tally))


def _batch(schema: pa.Schema, spec: TableSpec, rows: Sequence[tuple[Sent, ...]], tally: _Tally) -> pa.RecordBatch:
    stamps, late, ahead, *sent = zip(*rows, strict=True)
    columns: list[pa.Array] = []
    reasons: dict[int, tuple[str, str]] = {}
    for column, texts in zip(spec.columns, sent, strict=True):
        values, unfit = converted(column, texts)
        columns.append(values)
        for place, reason in unfit.items():
            reasons.setdefault(place, (column.name, reason))
    is_ahead = [flag == b"1" for flag in ahead]
    if spec.cursor is not None:
        for place in (place for place, flag in enumerate(is_ahead) if flag):
            reasons.setdefault(place, (spec.cursor.column, "stamped past the source's clock"))
    tally.count(stamps, is_ahead, len(reasons))
    flags = [
        [reasons.get(place, (None, None))[0] for place in range(len(rows))],
        [reasons.get(place, (None, None))[1] for place in range(len(rows))],
        [_raw(spec, rows[place][_OURS:]) if place in reasons else None for place in range(len(rows))],
        [flag == b"1" for flag in late],
    ]
    types = schema.types[-len(flags) :]
    return pa.record_batch(
        [*columns, *(pa.array(flag, kind) for flag, kind in zip(flags, types, strict=True))], schema=schema
    )


def _raw(spec: TableSpec, sent: Sequence[Sent]) -> str:
    """The row as it was sent: a JSON object of texts."""
    return json.dumps(dict(zip(spec.shape.names, map(printed, sent), strict=True)))


def _query(plan: SyncPlan) -> Condition:
    spec = plan.spec
    cursor, late, ahead, rows = Condition("NULL"), Condition("FALSE"), Condition("FALSE"), _where(plan)
    if spec.is_incremental:
        there = has_cursor(spec)
        cursor = Condition(f"IF({there.sql}, {effective(spec)}, NULL)", there.values)
        if plan.late_below is not None:
            late = there & beyond(spec, "<", plan.late_below)
        if plan.future_above is not None and spec.future is FuturePolicy.QUARANTINE:
            ahead = there & beyond(spec, ">=", plan.future_above)
    own = ", ".join(travel(column).select for column in spec.columns)
    sql = f"SELECT {cursor.sql}, {late.sql}, {ahead.sql}, {own} FROM {relation(spec.id)} WHERE {rows.sql}"
    return Condition(sql, (*cursor.values, *late.values, *ahead.values, *rows.values))


def _where(plan: SyncPlan) -> Condition:
    """Which rows the plan reads. A backfill's window holds no row without a cursor; every sync reads those anyway."""
    spec = plan.spec
    places = plan.request.places
    if not spec.is_incremental:
        # A row that no copy can hold takes part in no comparison, and would else never come to quarantine.
        return EVERY if places is None else at_places(spec, places) | unlandable(spec)
    skips = cursor_of(spec).nulls is NullPolicy.SKIP or plan.request.mode.reads_again
    rows = inside(spec, plan.window, nulls=not skips)
    return rows if places is None else rows & at_places(spec, places)
