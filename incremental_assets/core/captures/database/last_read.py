"""Rows above the watermark that the last sync has read already: those unchanged since are not read again. Pure.

A transaction that stays open for days holds the watermark, and every sync would read those days again. Where the source tells which
transactions a snapshot shows, a row that the last sync's snapshot showed, and that was not written since, has landed.
"""

from __future__ import annotations

import hashlib

from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.model.fingerprint import LastRead
from incremental_assets.core.model.table import FuturePolicy
from incremental_assets.core.planning.plan import SyncPlan


def remembered(plan: SyncPlan, visible: str) -> LastRead | None:
    """What to store about a plan's own read; None if the next sync could not rely on it."""
    bound = of_database(plan).bound
    if not visible or bound.started is None or bound.identity is None or not _tells_rows_apart(plan):
        return None
    return LastRead(plan.reading.window.lower, visible, bound.started, _shape(plan))


def read_already(plan: SyncPlan) -> LastRead | None:
    """What this plan need not read again; None if it reads all."""
    state = plan.previous
    kept = position_of(state).last_read if state else None
    if state is None or kept is None or not plan.goes_on or plan.reading.finds_differing or not _tells_rows_apart(plan):
        return None
    bound = of_database(plan).bound
    was, now = state.identity, bound.identity
    if was is None or now is None or not now.is_of(was) or now.timeline != was.timeline:
        return None
    if (kept.started, kept.shape) != (bound.started, _shape(plan)):
        return None
    reaches = kept.lower is None or (plan.reading.window.lower is not None and kept.lower <= plan.reading.window.lower)
    return kept if reaches else None


def _tells_rows_apart(plan: SyncPlan) -> bool:
    """Whether a row's version says since when it is there, and no row's place in the copy depends on its neighbours.

    Without an enforced key equal rows are counted, and of repeated keys one is chosen: both need all of them. A partition that is attached
    brings old versions, and a row that was past the clock lands as it is once its time has come.
    """
    spec = plan.spec
    return (
        spec.read_by is not None
        and bool(spec.key)
        and spec.key_enforced
        and spec.shape.row_versions
        and not spec.shape.arrivals
        and of_database(plan).members == ()
        and plan.reading.window.upper is None
        and spec.future is FuturePolicy.LAND
        and not of_database(plan).bound.replica
    )


def _shape(plan: SyncPlan) -> str:
    """Equal if the same columns of the same table were read with the same settings."""
    spec, cursor = plan.spec, plan.spec.cursor
    columns = [(column.name, column.identity, column.source_type, column.spark_type) for column in spec.columns]
    terms = cursor and (cursor.column, str(cursor.type), str(cursor.nulls), cursor.fallback)
    read = (str(spec.strategy), spec.key, terms, of_database(plan).zones, spec.evolve, columns)
    return hashlib.sha256(repr(read).encode()).hexdigest()[:16]
