"""A table whose definition has changed since its rows landed: no stamp moves with it, so that all rows are compared once with the copy. Pure."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.reading import DatabaseReading, of_database
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.captures.database.windows import lower_end
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.definition import alterations, told
from incremental_assets.core.model.schema_drift import other_columns
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.planning.report import RowCounts
from incremental_assets.core.words import counted


def altered(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """What the source's catalogue says of rows that have landed, and did not say when they did; empty where that is not known."""
    if state is None:
        return ()
    others = tuple(f"{name!r} is another column" for name in other_columns(spec, dict(state.columns)))
    known = state.definition is not None and spec.shape.facts is not None
    return (*others, *(alterations(state.definition or (), spec.shape.facts or ()) if known else ()))


def compared_if_altered(plan: SyncPlan, highest: CursorValue | None) -> SyncPlan:
    """The same plan, of all rows that have landed and by a comparison, where the table was altered. `highest`: of an integer cursor, as the source shows it."""
    changed = altered(plan.spec, plan.previous)
    if plan.request.mode is not Mode.SYNC or not changed or of_database(plan).ranges:
        return plan
    reading, previous = _counting_anew(plan, highest)
    return replace(
        plan,
        previous=previous,
        reading=replace(
            reading,
            window=replace(reading.window, lower=_lowest(plan)),
            # What an alteration brings was not committed late.
            late_below=None,
            finds_differing=True,
        ),
        warnings=(*plan.warnings, _announced(plan.spec, changed)),
    )


def _counting_anew(plan: SyncPlan, highest: CursorValue | None) -> tuple[DatabaseReading, State | None]:
    """The same reading, and the state that it goes on from, where numbers begin again below those that were read: what comes from now on is read, as all that is there has been compared."""
    cursor, previous, reading = plan.spec.cursor, plan.previous, of_database(plan)
    if cursor is None or cursor.by_transaction or cursor.type is not CursorType.INTEGER or previous is None:
        return reading, previous
    read = previous.position.max_cursor_read
    if read is None or (highest is not None and highest >= read):
        return reading, previous
    settled = settle(plan.spec, cursor, reading.bound, highest, None)
    anew = replace(
        reading,
        settled=settled,
        new_watermark=settled.value,
        fingerprint_lower=lower_end(plan.spec, settled.value),
    )
    return anew, replace(previous, position=replace(position_of(previous), max_cursor_read=highest))


def of_comparison(plan: SyncPlan, rows: RowCounts) -> tuple[str, ...]:
    """What a comparison after an alteration came to."""
    if not (plan.reading.finds_differing and plan.spec.read_by is not None):
        return ()
    sentence = (
        f"the comparison read {counted(rows.read, 'row')}, of which {rows.updated:,} had other values in the copy and "
        f"{rows.inserted:,} were not in it"
    )
    return (sentence,)


def _lowest(plan: SyncPlan) -> CursorValue | None:
    """Below it nothing has ever been read; None where anything may have been."""
    lowers = [window.lower for window in position_of(plan.previous).coverage] if plan.previous else []
    return plan.spec.start if not lowers else None if None in lowers else min(filter(None, lowers))


def _announced(spec: TableSpec, changed: tuple[str, ...]) -> str:
    does = (
        "versions that are not in the copy are added"
        if spec.traits.keeps_versions
        else "those that differ are read again"
    )
    return (
        f"the table was altered in the source ({told(changed)}), which moves no stamp: "
        f"all rows are compared once with the copy, by hashes, and {does}"
    )
