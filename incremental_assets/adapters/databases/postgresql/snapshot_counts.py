"""The source's own counts: what a read must return, and the fingerprint that shows whether anything has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.adapters.databases.postgresql.asked import TWO_SERVERS, Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.rows.keys import HeldKeys
from incremental_assets.adapters.databases.postgresql.rows.places import PlacedRows
from incremental_assets.adapters.databases.postgresql.rows.read import rejected, stamped_ahead, where
from incremental_assets.adapters.databases.postgresql.settled.visible import first_unread
from incremental_assets.adapters.databases.postgresql.sql import (
    ALIAS,
    Parameters,
    can_be_null,
    column,
    column_of,
    inside,
    of_members,
    orderly,
    reads_nulls,
    relation,
    without_cursor,
)
from incremental_assets.adapters.databases.postgresql.transaction_number import OVER
from incremental_assets.adapters.databases.postgresql.unaltered import check_members, check_unaltered
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.last_read import read_already
from incremental_assets.core.captures.database.reading import fingerprint_window, of_database
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan


@dataclass(frozen=True, slots=True)
class Exported:
    """A snapshot as other connections find it."""

    snapshot_id: str
    since: int | None
    """The transaction before which the last sync has read every row; None: all of the window is read."""
    marked: bool
    """Whether the transactions that import it may be marked as ours."""
    pooled: bool
    """Whether those who import it have to be lent a connection beside the one that it holds."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A snapshot that a transaction owns."""

    snapshot_id: str
    """Its name for other connections."""
    visible: str
    """Which transactions it shows."""
    server: str
    """Which running server it is of."""
    marked: bool
    pooled: bool


def begin_snapshot(asked: Asked) -> Begun:
    """Begin the transaction that owns a snapshot."""
    ((snapshot_id, visible),) = asked.begin("SELECT pg_export_snapshot(), CAST(pg_current_snapshot() AS text)")
    return Begun(snapshot_id, visible, asked.terms.server, asked.marked, asked.pooled)


def check_shown(asked: Asked, plan: SyncPlan) -> None:
    """That the snapshot shows the planned table, which from here on nobody can alter. Raises SourceRefused."""
    asked.execute(f"SELECT FROM {relation(plan.spec.id)} LIMIT 0")
    check_unaltered(asked, (plan.spec,))
    check_members(asked, plan)


def snapshot_numbers(asked: Asked, plans: Sequence[SyncPlan], begun: Begun) -> list[Numbers]:
    """What the transaction of a snapshot says of each plan. Raises SourceRefused if one of the tables is no longer the planned one."""
    handles = [_exported(plan, begun) for plan in plans]
    counted = [_counted(asked, plan, handle.since) for plan, handle in zip(plans, handles, strict=True)]
    check_unaltered(asked, [plan.spec for plan in plans])
    for plan in plans:
        check_members(asked, plan)
    return [_numbers(asked, *each, begun.visible) for each in zip(plans, handles, counted, strict=True)]


def _exported(plan: SyncPlan, begun: Begun) -> Exported:
    _check_as_late(plan, begun)
    last = read_already(plan)
    since = first_unread(last.visible, begun.visible) if last else None
    return Exported(begun.snapshot_id, since, begun.marked, begun.pooled)


def _counted(asked: Asked, plan: SyncPlan, since: int | None) -> Sequence[Any]:
    values = Parameters()
    sql = numbers_sql(plan, values, since)
    return one_row(asked, sql, values.values)


def _numbers(asked: Asked, plan: SyncPlan, handle: Exported, counted: Sequence[Any], visible: str) -> Numbers:
    spec = plan.spec
    rows, rejected_rows, highest, due, nulls, *marks = counted
    return Numbers(
        rows=rows,
        rejected=rejected_rows,
        nulls=nulls,
        highest=parse_cursor(spec, highest),
        due=parse_cursor(spec, due),
        fingerprint=fingerprint(spec, of_database(plan).fingerprint_lower, marks, of_database(plan).bound)
        if marks[0] is not None
        else None,
        visible=visible,
        handle=handle,
        keys=HeldKeys(asked, spec) if plan.reading.finds_gone else None,
    )


def _check_as_late(plan: SyncPlan, begun: Begun) -> None:
    """That all transactions which have settled are over in the snapshot, too. Raises SourceRefused."""
    settled, spec, bound = plan.reading.settled_at, plan.spec, of_database(plan).bound
    if bound.server and bound.server != begun.server and not bound.replica:
        raise SourceRefused(f"{spec.id}: {TWO_SERVERS}")
    if settled is None or spec.cursor is None or not spec.cursor.by_transaction:
        return
    if int(begun.visible.partition(":")[0]) < int(settled.text):
        raise SourceRefused(
            f"{spec.id}: the snapshot is from before the bound that was taken for it, so nothing was written: several replicas answer behind one address; "
            "name one of them, or the primary, as `host`"
        )


@contextmanager
def open_keys(asked: Asked, spec: TableSpec) -> Iterator[HeldKeys]:
    """The keys of a table in a snapshot of their own. Raises SourceRefused if the table is no longer the one that was asked for."""
    with _unaltered_snapshot(asked, spec):
        yield HeldKeys(asked, spec)


@contextmanager
def open_placed_rows(asked: Asked, spec: TableSpec, windows: Sequence[Window]) -> Iterator[PlacedRows]:
    """The rows of some windows in a snapshot of their own. Raises SourceRefused if the table is no longer the one that was asked for."""
    with _unaltered_snapshot(asked, spec):
        yield PlacedRows(asked, spec, windows)


@contextmanager
def _unaltered_snapshot(asked: Asked, spec: TableSpec) -> Iterator[None]:
    asked.begin(f"SELECT FROM {relation(spec.id)} LIMIT 0")
    try:
        check_unaltered(asked, (spec,))
        yield
    except BaseException:
        asked.connection.close()
        raise
    asked.end()


def numbers_sql(plan: SyncPlan, values: Parameters, since: int | None = None) -> str:
    """One row: rows, rejected, highest, due, nulls, and the fingerprint's rows, highest and digest."""
    spec = plan.spec
    read = read_from(spec, where(plan, values, since))
    counts = f"count(*) AS n, count(*) FILTER (WHERE {rejected(plan, values)}) AS rejected"
    if spec.read_by is None:
        return f"SELECT r.n, r.rejected, NULL, NULL, 0, NULL, NULL, NULL FROM (SELECT {counts} {read}) AS r"
    stamped = stamped_ahead(plan, values)
    due = f"CAST(min({orderly(spec)}) FILTER (WHERE {stamped}) AS text)" if stamped else "CAST(NULL AS text)"
    ends = f"CAST(max({orderly(spec)}) AS text) AS highest, {due} AS due"
    missing = f"(SELECT count(*) {read_from(spec, without_cursor(spec))})" if can_be_null(spec) else "0"
    window = fingerprint_window(plan)
    if window is None:
        return f"SELECT r.n, r.rejected, r.highest, r.due, {missing}, NULL, NULL, NULL FROM (SELECT {counts}, {ends} {read}) AS r"
    provisional = fingerprint_sql(spec, window, values, of_database(plan).members)
    return (
        f"SELECT r.n, r.rejected, r.highest, r.due, {missing}, f.n, f.highest, f.digest "
        f"FROM (SELECT {counts}, {ends} {read}) AS r CROSS JOIN ({provisional}) AS f"
    )


def fingerprint_sql(spec: TableSpec, window: Window, values: Parameters, members: Sequence[int] | None = None) -> str:
    """One row: n, highest, digest; of some `members` alone, or of all that are there."""
    rows = of_members(spec, members, values, inside(spec, window, values, nulls=reads_nulls(spec)))
    return (
        f"SELECT count(*) AS n, CAST(max({orderly(spec)}) AS text) AS highest, CAST(coalesce(sum({_version(spec)}), 0) AS text) AS digest "
        f"{read_from(spec, rows)}"
    )


def fingerprint(spec: TableSpec, lower: CursorValue | None, row: Sequence[Any], bound: Bound) -> Fingerprint:
    """The fingerprint in a row of `fingerprint_sql`.

    A replica never shows what its primary could still lose, and several behind one address have been started at several times.
    """
    count, highest, digest = row
    value = parse_cursor(spec, highest)
    started = bound.started if count and spec.shape.row_versions and not bound.replica else None
    return Fingerprint(lower, count, value.text if value else None, digest, started)


def highest_sql(spec: TableSpec) -> str:
    """The largest integer of a table as text, found by an index where there is one; for transactions, below which number all are over."""
    cursor = cursor_of(spec)
    if cursor.by_transaction:
        return OVER
    largest = _largest(spec, cursor.column, "")
    if cursor.fallback is not None:
        largest = f"greatest({largest}, {_largest(spec, cursor.fallback, f'{column(cursor.column)} IS NULL')})"
    return f"SELECT CAST({largest} AS text)"


def parse_cursor(spec: TableSpec, text: str | None) -> CursorValue | None:
    """A cursor's value as our sessions print it."""
    return None if text is None else CursorValue.parse(cursor_of(spec).type, text)


def _largest(spec: TableSpec, name: str, condition: str) -> str:
    tests = [condition] if condition else []
    if cursor_of(spec).type is CursorType.INTEGER and column_of(spec, name).source_type.startswith("numeric"):
        tests.append(f"{column(name)} < 'NaN'")
    return f"(SELECT max({column(name)}) {read_from(spec, ' AND '.join(tests))})"


def _version(spec: TableSpec) -> str:
    """A 64-bit hash that changes whenever the row is written; of a view's row all that can be had is its content."""
    if spec.shape.row_versions:
        return f"hash_record_extended(ROW({ALIAS}.tableoid, {ALIAS}.ctid, {ALIAS}.xmin), 0)"
    return f"hashtextextended(CAST(ROW({', '.join(column(each.name) for each in spec.without_masked.source_columns)}) AS text), 0)"
