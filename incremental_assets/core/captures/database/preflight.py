"""Is it still the same source, under the same settings? What stops a sync before it begins, and what only warns."""

from __future__ import annotations

from datetime import timedelta

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.clock_steps import put_back
from incremental_assets.core.captures.database.local_readings import zone_of
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.captures.database.settled_bound import new_timeline
from incremental_assets.core.errors import (
    CursorIsNull,
    SourceExchanged,
    SourceRefused,
    ZoneDisputed,
    ZoneUnknown,
)
from incremental_assets.core.model.cures import accept_source, full_refresh, reset, rows_hidden
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.source_identity import Compared
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import NullPolicy, TableSpec
from incremental_assets.core.model.time_zones import time_zone, to_write
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request, SyncPlan

_LONGEST_LAG = timedelta(hours=1)
_NAMED = 3


def check_identity(spec: TableSpec, request: Request, state: State | None, bound: Bound) -> None:
    """Stop if another database answers, or an older copy of it, unless everything is read again."""
    kept, found = (state.identity if state else None), bound.identity
    if kept is None or found is None or request.mode is Mode.FULL_REFRESH:
        return
    advice = (
        f"nothing was changed; point the configuration back, or accept the new source with "
        f"{full_refresh(spec)} or {reset(spec)}"
    )
    compared = found.compared_with(kept)
    if compared is Compared.OTHER:
        raise SourceExchanged(
            f"{spec.id}: another database answers than the one synced so far ({found.differences_from(kept)}): {advice}; "
            f"after an upgrade that gave the server a new identity, continue with {accept_source(spec.id)}"
        )
    if compared is Compared.OLDER and not (request.mode is Mode.SYNC and lags_behind(state, bound)):
        raise SourceExchanged(
            f"{spec.id}: the source's log is at {found.position:,}, before the {kept.position:,} of the last sync: it was restored from an older copy, "
            f"or a replica was promoted that had not received everything; {advice}"
        )


def lags_behind(state: State | None, bound: Bound) -> str:
    """A replica that has not replayed what the last sync read, from its primary or from another replica; empty where it is none.

    It shows rows as they were, so that nothing may be read from it; it will have caught up. One that has not for an hour is no such thing.
    """
    kept, found = (state.identity if state else None), bound.identity
    last = position_of(state).reading
    read = last.source if last else state.clock if state else None
    if not bound.replica or kept is None or found is None or read is None or found.timeline < kept.timeline:
        return ""
    if found.position >= kept.position or bound.clock - read > _LONGEST_LAG:
        return ""
    return (
        f"the replica that answers has yet to replay {kept.position - found.position:,} bytes of the log that the last sync had seen, "
        "as replicas behind one address do: nothing is read from it before that"
    )


def check_zone(spec: TableSpec, bound: Bound) -> None:
    """Stop if stamps are to be read in a zone that only the database knows (an offset, a rule or its own file), or that it knows with other rules."""
    cursor = spec.read_by
    if cursor is None or not cursor.is_zoneless:
        return
    zone = zone_of(cursor, bound)
    known = time_zone(zone)
    if known is None:
        raise ZoneUnknown(spec.id, cursor.column, zone, to_write(zone))
    for each in bound.local_times:
        ours = each.moment.astimezone(known).replace(tzinfo=None)
        if each.zone == zone and each.wall != ours:
            raise ZoneDisputed(spec.id, cursor.column, zone, theirs=each.wall, ours=ours)


def check_shown(spec: TableSpec, observation: DatabaseObservation) -> None:
    """Stop if rows were hidden since the catalogue was read: hidden rows look like an unchanged table."""
    if observation.hides:
        raise SourceRefused(rows_hidden(spec.id))


def timeline_turned(state: State | None, bound: Bound) -> tuple[str, ...]:
    """Rows of lost transactions that had landed stay, and the source will draw their numbers again."""
    turned = new_timeline(state, bound)
    if not turned:
        return ()
    sentence = (
        f"{turned}; if it lost its last transactions, their rows stay in the copy, and numbers below the watermark that it "
        "gives out again are not read: `incremental-assets check` names both"
    )
    return (sentence,)


def clock_went_back(spec: TableSpec, state: State | None, bound: Bound) -> tuple[str, ...]:
    """Warned of once, by the run that notices; the reason of the guarantee says how long it matters."""
    back = put_back(state, bound)
    if back is None or back.low is None or (state is not None and back == position_of(state).put_back):
        return ()
    if spec.cursor is None or not spec.cursor.type.is_time:
        return ()
    since = f"rows stamped since {back.low:%Y-%m-%d %H:%M:%S}Z are read again"
    if back.proven:
        return (
            f"the source's clock was put back: {since}; a clock that is slewed, as NTP does by default, avoids this",
        )
    sentence = f"the source's clock was put back, or the clocks of the machines that sync it disagree: {since}; let NTP keep them"
    return (sentence,)


def highest_fell(spec: TableSpec, state: State | None, highest: CursorValue | None) -> tuple[str, ...]:
    """Numbers that are drawn again below the watermark are never read, and only the highest number reveals it."""
    read = state.position.max_cursor_read if state else None
    if spec.cursor is None or spec.cursor.by_transaction or read is None or highest is None or not highest < read:
        # Of transactions it is no row's number, but that of the oldest one that is open.
        return ()
    sentence = (
        f"the highest {spec.cursor.column!r} in the source is {highest} where {read} had been read: if rows were deleted, no action is needed; "
        f"if the table was replaced or counts from the start again, read it again with {reset(spec)}"
    )
    return (sentence,)


def latest_fell(spec: TableSpec, state: State | None, seen: Fingerprint | None) -> tuple[str, ...]:
    """The same for stamps, above the start of the kept fingerprint: the latest one is no longer there."""
    kept = position_of(state).fingerprint if state else None
    if spec.cursor is None or not spec.cursor.type.is_time or kept is None or kept.highest is None:
        return ()
    if seen is None or seen.lower != kept.lower or seen.highest == kept.highest:
        return ()
    kind = spec.cursor.type
    if seen.highest is not None and CursorValue(kind, kept.highest) < CursorValue(kind, seen.highest):
        return ()
    sentence = (
        f"the latest {spec.cursor.column!r} in the source is {seen.highest or f'below {kept.lower}'} where {kept.highest} had been read: should rows "
        f"have been deleted, that is all; if the table was restored, or stamped with earlier times, read it again with {reset(spec)}"
    )
    return (sentence,)


def identity_hidden(bound: Bound) -> tuple[str, ...]:
    """A warning where the source has no identity: a restored or exchanged database looks like the one that was synced."""
    if bound.identity is not None:
        return ()
    sentence = (
        "the source does not say which database it is, so that a restored or exchanged one would not be noticed: "
        "`incremental-assets doctor --sql` prints the grants"
    )
    return (sentence,)


def never_read(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """A `start` that was lowered or removed: syncs continue from the watermark, and nothing reads the rows below the old start."""
    if spec.cursor is None or state is None or state.position.watermark is None:
        return ()
    holes = position_of(state).unread(spec.start, state.position.watermark)
    if not holes:
        return ()
    spans = [
        f"below {hole.upper}" if hole.lower == spec.start else f"from {hole.lower} to below {hole.upper}"
        for hole in holes[:_NAMED]
    ]
    more = [f"in {len(holes) - _NAMED} more windows"] if len(holes) > _NAMED else []
    sentence = (
        f"rows whose {spec.cursor.column!r} is {' or '.join([*spans, *more])} were never read: read them with {reset(spec)}, "
        f"or say with `start` that they are not wanted"
    )
    return (sentence,)


def columns_returned(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """Columns that syncs could not read for a while: renamed and renamed back, or not granted. What was written meanwhile is below the watermark."""
    absent = {name.lower() for name in state.absent} if state and not spec.fills else set()
    names = ", ".join(column.name for column in spec.columns if column.name.lower() in absent)
    sentence = (
        f"columns ({names}) are back after an absence; rows that were written meanwhile and do not change again keep "
        f"what the copy held there before, or NULL: read everything again with {reset(spec)}"
    )
    return (sentence,) if names else ()


def start_ahead(spec: TableSpec, window: Window, reached: CursorValue | None) -> tuple[str, ...]:
    """A `start` that the source has not reached, which may be a mistake. `reached`: its clock, or the highest number."""
    start = spec.start
    if spec.cursor is None or start is None or window.lower != start or reached is None or start <= reached:
        return ()
    sentence = (
        f"`start` is {start}, and the source is at {reached}: no row is read before its {spec.cursor.column!r} has come to `start`; "
        "if that is a mistake, lower it, and the next sync reads from there"
    )
    return (sentence,)


def check_nulls(plan: SyncPlan, nulls: int) -> None:
    """Stop if rows have no cursor and the configuration says so."""
    cursor = plan.spec.read_by
    if nulls and cursor is not None and cursor.nulls is NullPolicy.FAIL:
        raise CursorIsNull(plan.spec.id, cursor.column, nulls)
