"""The SELECT that reads a plan's window: transports, flags, and the ranges of blocks that split it.

It stays a flat SELECT: PostgreSQL then puts a predicate on `_sync_ctid` straight to the table as a TID range scan.
"""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.adapters.databases.jdbc import ReadQuery
from incremental_assets.adapters.databases.postgresql.encodings import as_bytes, not_utf8
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.rows.key_ranges import within
from incremental_assets.adapters.databases.postgresql.rows.places import at_places
from incremental_assets.adapters.databases.postgresql.settled.visible import written_since
from incremental_assets.adapters.databases.postgresql.sql import (
    ALIAS,
    Values,
    cursor_value,
    effective,
    inline,
    inside,
    literal,
    of_members,
    reads_nulls,
    value_of,
)
from incremental_assets.adapters.databases.postgresql.types import as_text, transport, unholdable
from incremental_assets.adapters.spark.own_names import BLOCK, LATE, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.table import FuturePolicy, TableSpec, cursor_of
from incremental_assets.core.planning.plan import SyncPlan

_PAGES_PER_PART = 128
"""A megabyte: below it a second connection costs more than it brings."""


def read_query(plan: SyncPlan, parts: int, *, clean: bool = False, since: int | None = None) -> ReadQuery:
    """The read of a plan, in up to `parts` disjoint parts where the table's blocks can be asked for in ranges.

    `clean`: the same snapshot has counted no row to be rejected, so that nothing need be tested again for every row. `since`: the transaction
    before which the last sync has read every row.
    """
    spec = plan.spec
    transports = tuple(transport(found, f"c{index}", guarded=not clean) for index, found in enumerate(spec.columns))
    ranges = _ranges(spec, parts)
    selected = [f"{travelling.select} AS {travelling.alias}" for travelling in transports]
    selected += _flags(plan, [] if clean else _rejects(plan, inline))
    if ranges:
        selected.append(f"{ALIAS}.ctid AS {BLOCK}")
    sql = "\n".join((f"SELECT {', '.join(selected)}", read_from(spec, where(plan, inline, since))))
    return ReadQuery(sql=sql, transports=transports, parts=ranges)


def rejected(plan: SyncPlan, values: Values) -> str:
    """The condition that a row cannot land and goes to quarantine."""
    return " OR ".join(reject.condition for reject in _rejects(plan, values)) or "FALSE"


def where(plan: SyncPlan, values: Values, since: int | None) -> str:
    """The condition for the rows that the plan reads, at its places or in its ranges where it names some; with `since` only those that a transaction from this one on has written. A backfill reads no rows without a cursor, as every sync reads them anyway."""
    spec, rows = plan.spec, "TRUE"
    if spec.read_by is not None:
        rows = inside(spec, plan.reading.window, values, nulls=reads_nulls(spec) and not plan.request.mode.reads_again)
    rows = of_members(spec, of_database(plan).members, values, rows)
    if ranges := of_database(plan).ranges:
        rows = f"{rows} AND {within(spec, ranges)}"
    if plan.request.places is not None:
        sought = at_places(spec, plan.request.places, values)
        # A row that no copy can hold takes part in no comparison, and would else never come to quarantine.
        rows = (
            f"{rows} AND ({sought} OR {rejected(plan, values)})"
            if plan.reading.finds_differing
            else f"{rows} AND {sought}"
        )
    return rows if since is None else f"{rows} AND {written_since(since)}"


@dataclass(frozen=True, slots=True)
class _Reject:
    column: str
    condition: str
    reason: str


def _flags(plan: SyncPlan, rejects: list[_Reject]) -> list[str]:
    late, below = "FALSE", of_database(plan).late_below
    if below is not None:
        late = f"coalesce({effective(plan.spec)} < {cursor_value(plan.spec, below, inline)}, FALSE)"
    if not rejects:
        nothing = [f"CAST(NULL AS text) AS {name}" for name in (REJECT_COLUMN, REJECT_REASON, RAW)]
        return [*nothing, f"{late} AS {LATE}"]
    any_reject = " OR ".join(reject.condition for reject in rejects)
    columns = " ".join(f"WHEN {reject.condition} THEN {literal(reject.column)}" for reject in rejects)
    reasons = " ".join(f"WHEN {reject.condition} THEN {literal(reject.reason)}" for reject in rejects)
    # The outer CASE keeps the common row cheap.
    return [
        f"CAST(CASE {columns} END AS text) AS {REJECT_COLUMN}",
        f"CAST(CASE {reasons} END AS text) AS {REJECT_REASON}",
        f"CASE WHEN {any_reject} THEN CAST({_raw(plan.spec)} AS text) END AS {RAW}",
        f"{late} AS {LATE}",
    ]


def _rejects(plan: SyncPlan, values: Values) -> list[_Reject]:
    spec = plan.spec
    found = [(each, unholdable(each)) for each in spec.columns]
    rejects = [_Reject(each.name, bad.condition, bad.reason) for each, bad in found if bad is not None]
    stamped = stamped_ahead(plan, values)
    if stamped:
        rejects.append(_Reject(cursor_of(spec).column, stamped, "stamped past the source's clock"))
    return rejects


def stamped_ahead(plan: SyncPlan, values: Values) -> str:
    """The condition under which a row is past the source's clock and goes to quarantine; empty where none does."""
    spec, above = plan.spec, of_database(plan).future_above
    if spec.future is not FuturePolicy.QUARANTINE or above is None:
        return ""
    return f"{effective(spec)} >= {cursor_value(spec, above, values)}"


def _raw(spec: TableSpec) -> str:
    # Two arrays, as a function of PostgreSQL takes a hundred arguments and a table may have 1,600 columns.
    names = ", ".join(literal(found.name) for found in spec.columns)
    texts = ", ".join(map(legible, spec.columns))
    return f"json_object(ARRAY[{names}]::text[], ARRAY[{texts}]::text[])"


def legible(found: Column) -> str:
    """A value's text, or that of its bytes where it is no text."""
    text = as_text(found, value_of(found))
    if not found.encoding:
        return text
    return f"CASE WHEN {not_utf8(found.encoding, text)} THEN {as_bytes(found.encoding, text)} ELSE {text} END"


def _ranges(spec: TableSpec, parts: int) -> tuple[str, ...]:
    pages = spec.shape.pages
    count = min(parts, pages // _PAGES_PER_PART)
    if not spec.shape.splits or count < 2:
        return ()
    ends = [pages * index // count for index in range(1, count)]
    lowers = [f"{BLOCK} >= '({end},0)'::tid" for end in ends]
    uppers = [f"{BLOCK} < '({end},0)'::tid" for end in ends]
    # The last range stays open: the table may have grown since its pages were counted.
    return (uppers[0], *(f"{lower} AND {upper}" for lower, upper in zip(lowers, uppers[1:], strict=False)), lowers[-1])
