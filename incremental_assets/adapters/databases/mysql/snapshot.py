"""One transaction with one view: the rows of a plan's window, written to a file of ours as they arrive, and counted by the server."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.condition import EVERY, Condition
from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.local_rows import check_unaltered
from incremental_assets.adapters.databases.mysql.catalogue import read_catalogue
from incremental_assets.adapters.databases.mysql.columns import converted, printed
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.key_ranges import within
from incremental_assets.adapters.databases.mysql.rows_of import Selection
from incremental_assets.adapters.databases.mysql.sql import beyond, chosen, effective, has_cursor, inside, relation
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
from incremental_assets.adapters.databases.spooled_rows import arrow_schema, spool
from incremental_assets.adapters.databases.whole import check_whole
from incremental_assets.adapters.permissions import scratch_folder
from incremental_assets.core.captures.database.reading import fingerprint_window, of_database
from incremental_assets.core.captures.log.reading import LogReading
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import FuturePolicy, NullPolicy, TableSpec, cursor_of
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek

_AT_ONCE = 20_000
"""Rows in memory, and in a group of the file."""
_OURS = 3
"""Columns that we ask for before the table's own: the cursor, whether it is late, whether it lies ahead."""
_NUMBER = pa.decimal128(38, 0)


@contextmanager
def open_snapshot(connection: Connection, plan: SyncPlan, seek: Seek | None = None) -> Iterator[Numbers]:
    """The file with its rows is there until the block ends; the transaction is over before it begins. Raises SourceRefused.

    `seek`: is shown all rows first, and says which of them are read.
    """
    spec = plan.spec
    folder = Path(tempfile.mkdtemp(prefix="rows-", dir=scratch_folder()))
    try:
        with _view(connection, plan) as visible:
            # From its first question to its end no statement can alter the table; what was altered before, the catalogue shows.
            connection.execute(f"SELECT 1 FROM {relation(spec.id)} LIMIT 1")
            check_unaltered(spec, read_catalogue(connection, spec.id.source, (spec.id.schema,), spec.id.name))
            tally = _Tally(spec)
            # Its rows may take longer than any question.
            connection.limit(None)
            sought = seek(placed_rows(connection, spec, plan.reading.compared)) if seek else None
            plan = plan.at(sought.places) if sought else plan
            window = fingerprint_window(plan)
            selection = _selection(plan)
            _write(folder / "rows.parquet", selection, connection, tally)
            check_whole(spec.shape, tally.rows, lambda: selection.counted(connection))
            numbers = Numbers(
                rows=tally.rows,
                rejected=tally.rejected,
                nulls=without(connection, spec) if spec.read_by is not None else 0,
                highest=tally.highest,
                due=tally.due,
                fingerprint=fingerprint(connection, spec.without_masked, window) if window else None,
                visible=visible,
                keys=read_keys(connection, spec) if plan.reading.finds_gone else None,
                handle=folder / "rows.parquet",
                selected=sought,
            )
        yield numbers
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _view(connection: Connection, plan: SyncPlan) -> Iterator[str]:
    """One view; where a load is to go on by the binlog, with its place in that."""
    if isinstance(plan.reading, LogReading) and plan.reading.is_whole:
        with connection.located_snapshot() as place:
            yield place
    else:
        with connection.snapshot():
            yield ""


@dataclass
class _Tally:
    """Counts the rows that pass."""

    spec: TableSpec
    rows: int = 0
    rejected: int = 0
    highest: CursorValue | None = None
    due: CursorValue | None = None

    def count(self, stamps: pa.BinaryArray, ahead: pa.BooleanArray, rejected: int) -> None:
        """The rows of one batch."""
        self.rows += len(stamps)
        self.rejected += rejected
        if self.spec.read_by is None:
            return
        # Texts of one column have one form, so that the order of moments is theirs; numbers are compared as such.
        found = stamps.cast(pa.string())
        if cursor_of(self.spec).type is CursorType.INTEGER:
            found = found.cast(_NUMBER)
        self.highest = _end(max, self.highest, self._value(pc.max(found)))
        self.due = _end(min, self.due, self._value(pc.min(found.filter(ahead))))

    def _value(self, found: pa.Scalar) -> CursorValue | None:
        return value_of(self.spec, str(found)) if found.is_valid else None


def _end(function: Any, *values: CursorValue | None) -> CursorValue | None:
    found: CursorValue | None = function((value for value in values if value is not None), default=None)
    return found


def _write(path: Path, selection: Selection, connection: Connection, tally: _Tally) -> None:
    schema = arrow_schema(selection.spec)
    with spool(path, schema, selection.spec) as writer:
        for sent in connection.batches(selection.sql, selection.values, _AT_ONCE):
            writer.write_batch(_batch(schema, selection.spec, sent, tally))


def _batch(schema: pa.Schema, spec: TableSpec, sent: Sequence[pa.BinaryArray], tally: _Tally) -> pa.RecordBatch:
    stamps, late, ahead = sent[0], _said(sent[1]), _said(sent[2])
    columns: list[pa.Array] = []
    reasons: dict[int, tuple[str, str]] = {}
    for column, texts in zip(spec.columns, sent[_OURS:], strict=True):
        values, unfit = converted(column, texts)
        columns.append(values)
        for place, reason in unfit.items():
            reasons.setdefault(place, (column.name, reason))
    if spec.cursor is not None:
        for place in pc.indices_nonzero(ahead).to_pylist():
            reasons.setdefault(place, (spec.cursor.column, "stamped past the source's clock"))
    tally.count(stamps, ahead, len(reasons))
    return pa.record_batch([*columns, *_rejects(spec, sent, reasons), late], schema=schema)


def _said(flags: pa.BinaryArray) -> pa.BooleanArray:
    """The server's flags as booleans; NULL, which a row without a cursor has, is false."""
    return pc.fill_null(pc.equal(flags, b"1"), fill_value=False)


def _rejects(
    spec: TableSpec, sent: Sequence[pa.BinaryArray], reasons: Mapping[int, tuple[str, str]]
) -> Iterator[pa.Array]:
    """Three columns for the rows that are rejected: the column that is not of its kind, the reason, and the row as it was sent, a JSON object of texts."""
    if not reasons:
        yield from [pa.nulls(len(sent[0]), pa.string())] * 3
        return
    told = [reasons.get(place) for place in range(len(sent[0]))]
    yield pa.array([each and each[0] for each in told], pa.string())
    yield pa.array([each and each[1] for each in told], pa.string())
    yield pa.array([each and _raw(spec, sent, place) for place, each in enumerate(told)], pa.string())


def _raw(spec: TableSpec, sent: Sequence[pa.BinaryArray], place: int) -> str:
    texts = (printed(values[place].as_py()) for values in sent[_OURS:])
    return json.dumps(dict(zip(spec.shape.names, texts, strict=True)))


def _selection(plan: SyncPlan) -> Selection:
    spec, reading = plan.spec, of_database(plan)
    cursor, late, ahead = Condition("NULL"), Condition("FALSE"), Condition("FALSE")
    if spec.read_by is not None:
        there = has_cursor(spec)
        cursor = Condition(f"IF({there.sql}, {effective(spec)}, NULL)", there.values)
        if reading.late_below is not None:
            late = there & beyond(spec, "<", reading.late_below)
        if reading.future_above is not None and spec.future is FuturePolicy.QUARANTINE:
            ahead = there & beyond(spec, ">=", reading.future_above)
    own = ", ".join(travel(column).select for column in spec.columns)
    columns = Condition(f"{cursor.sql}, {late.sql}, {ahead.sql}, {own}", (*cursor.values, *late.values, *ahead.values))
    return Selection(spec, columns, chosen(spec, _where(plan)))


def _where(plan: SyncPlan) -> Condition:
    """The condition for the rows that the plan reads, at its places or in its ranges where it names some. A backfill reads no rows without a cursor, as every sync reads them anyway."""
    spec = plan.spec
    places = plan.request.places
    if spec.read_by is None:
        # A row that no copy can hold takes part in no comparison, and would else never come to quarantine.
        return EVERY if places is None else at_places(spec, places) | unlandable(spec)
    skips = cursor_of(spec).nulls is NullPolicy.SKIP or plan.request.mode.reads_again
    rows = inside(spec, plan.reading.window, nulls=not skips)
    if ranges := of_database(plan).ranges:
        rows &= within(spec, ranges)
    return rows if places is None else rows & at_places(spec, places)
