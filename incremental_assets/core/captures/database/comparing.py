"""Whether a sync compares the copy with its snapshot, and what it can promise then."""

from __future__ import annotations

from datetime import datetime

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.settled_bound import Settled, settle_whole
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request


def compares_keys(spec: TableSpec, request: Request, state: State | None, bound: Bound) -> bool:
    """Whether deletes are to be looked for now. Only a snapshot that is known to be later than all that was read can tell of one."""
    if not spec.deletes.compares or (bound.replica and bound.identity is None):
        return False
    if request.mode is not Mode.SYNC:
        return request.mode is Mode.REPAIR or (spec.compares and request.mode in (Mode.BACKFILL, Mode.REPLAY))
    if request.looks_now:
        return True
    last = state.compared if state else None
    if last is None or bound.clock < last.clock:
        # A clock that was put back would have it wait for as long as that, and the interval.
        return True
    # By a schedule it lasts until the next look: a day from one at 06:00 would be over a moment after the next one.
    lasts = bound.clock if spec.schedule is None else spec.schedule.next_after(bound.clock)
    return lasts - last.clock >= spec.deletes.every


def deletes_due(spec: TableSpec, state: State | None) -> datetime | None:
    """When deletes of a table with a cursor are looked for next; None where none are looked for, and where the next sync does."""
    if spec.read_by is None or not spec.deletes.compares or state is None or state.compared is None:
        return None
    return state.compared.clock + spec.deletes.every


def settle_compared(spec: TableSpec, bound: Bound, *, blind: bool) -> Settled:
    """What a comparison of all rows settles. `blind`: nothing shows that the snapshot is later than what has landed, so that no row may be removed."""
    if blind:
        why = "the replica does not say which database it is, so that what is gone from it stays in the copy"
        return Settled(None, Guarantee.BEST_EFFORT, why)
    return settle_whole(spec, bound, "compared with the copy")
