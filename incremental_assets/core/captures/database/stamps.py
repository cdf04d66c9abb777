"""Whose clock stamps the rows of a time cursor, and how far below the settled bound the watermark stays for it. Pure.

The proof of the settled bound takes a stamp for a reading of the source's clock, in the transaction that writes the row. A default or a trigger
of the source shows that. Without one an application stamps, by its own clock and before its transaction: that is no more than it declares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from incremental_assets.core.captures.database.doubts import alike, of_arrival, stamped_columns
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.model.cures import check
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.stamping import NOTHING, Proof, Stamping, StampsSeen, Unit, Unproven
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec

CURE = (
    "let a default and a trigger of the database stamp it, or declare how long its stamps may lag: "
    "`cursor: {stamped: {by: application, within: 30s}}`"
)
CURE_BY_SOURCE = "take its `cursor` away and let `compare` find such rows, or read it by `full_refresh`"
"""Where the source writes rows that nobody stamps."""
_BY_AN_APPLICATION = "an application does, by its own clock and maybe long before its transaction"


def of_stamps(spec: TableSpec, zone: str, clock: datetime) -> str:
    """What keeps a row's stamp from being known for the source's clock; empty if nothing does, or if the configuration declares who stamps all rows."""
    cursor = _cursor(spec)
    if cursor is None or of_arrival(spec):
        return ""
    if cursor.within is not None:
        return _by_source(spec, cursor)
    # What is there and proves nothing says more than that nothing is there.
    for proof, nothing in sorted(
        _needed(spec, cursor), key=lambda each: not (isinstance(each[0], Unproven) and each[0].why)
    ):
        if isinstance(proof, Unproven):
            return proof.why or nothing
        if cursor.is_zoneless and proof.zone and not alike(proof.zone, zone, clock):
            return (
                f"{cursor.column!r} is stamped in {proof.zone} and read in {zone}: name the zone in which it is stamped, "
                f"`cursor: {{zone: {proof.zone}}}`"
            )
    return ""


def zone_of_stamps(spec: TableSpec, zone: str, clock: datetime) -> str:
    """The zone in which the source stamps a cursor that is read in another one; empty where nothing shows that."""
    cursor = _cursor(spec)
    if cursor is None or cursor.within is not None or not cursor.is_zoneless:
        return ""
    zones = {proof.zone for proof, _ in _needed(spec, cursor) if not isinstance(proof, Unproven) and proof.zone}
    return zones.pop() if len(zones) == 1 and not any(alike(each, zone, clock) for each in zones) else ""


def of_past_stamps(spec: TableSpec, state: State | None) -> str:
    """What has happened since the last sync, or was found by one, that keeps the stamps from being what they seem."""
    cursor, seen = _cursor(spec), position_of(state).stamps if state else None
    if cursor is None or seen is None or of_arrival(spec):
        return ""
    if cursor.within is not None:
        exceeded = _still_exceeded(cursor, seen)
        return exceeded and (
            f"a row has come later than the {exceeded} that `stamped` allows in {cursor.column!r}: raise its `within`"
        )
    return of_altered_stamps(spec, state)


def of_altered_stamps(spec: TableSpec, state: State | None) -> str:
    """Defaults and triggers that are no longer what they were at the last sync, though they may be the same again."""
    cursor, seen = _cursor(spec), position_of(state).stamps if state else None
    if cursor is None or seen is None or cursor.within is not None or of_arrival(spec):
        return ""
    if not (seen.proven and seen.marks) or seen.marks == _now(spec, cursor).marks:
        return ""
    others = any(each.marks_more for each in _stampings(spec, cursor) if each)
    was = "something of the source's schema, and maybe" if others else ""
    return (
        f"{was} the default or the trigger that stamps {cursor.column!r} was altered since the last sync, and rows that were written meanwhile "
        "may have other stamps"
    ).strip()


def declared(spec: TableSpec) -> timedelta | None:
    """How long before its transaction an application stamps a row at most; None where nothing is declared, or no stamp is followed."""
    cursor = _cursor(spec)
    return cursor.within if cursor else None


def units_cut(spec: TableSpec) -> tuple[str, ...]:
    """The units, longer than a second, to which some stamps are cut."""
    cursor = _cursor(spec)
    cuts = _now(spec, cursor).cuts if cursor else ()
    return tuple(dict.fromkeys(str(cut.unit) for cut in cuts if cut.unit is not Unit.SECOND))


def by_an_application(spec: TableSpec) -> bool:
    """Whether nothing of the source writes what is not proven to be the source's own time, so that an application does."""
    cursor = _cursor(spec)
    doubtful = [proof for proof, _ in _needed(spec, cursor) if isinstance(proof, Unproven)] if cursor else []
    return bool(doubtful) and all(proof == NOTHING for proof in doubtful)


def lowest_stored(spec: TableSpec, value: CursorValue) -> CursorValue:
    """The smallest cursor that a row can have whose moment reads `value` or more, of what is cut off its stamp."""
    cursor = _cursor(spec)
    return value if cursor is None else _lowest(value, _now(spec, cursor))


def stamps_seen(spec: TableSpec, state: State | None, doubt: str) -> StampsSeen | None:
    """What the next sync has to know of how the rows are stamped now; None of a table that is not followed by stamps."""
    cursor = _cursor(spec)
    if cursor is None:
        return None
    kept = position_of(state).stamps if state else None
    exceeded = kept.exceeded if kept and _still_exceeded(cursor, kept) else None
    return replace(_now(spec, cursor), proven=not doubt, exceeded=exceeded)


def restamped(spec: TableSpec, state: State | None) -> State | None:
    """The state, moved down once below all that a row may show which is stamped as is known now, where less was known at the last sync."""
    cursor = _cursor(spec)
    if state is None or cursor is None:
        return state
    position, now = position_of(state), _now(spec, cursor)
    before, mark = position.stamps or StampsSeen(), position.watermark
    if (before.cuts, before.within) == (now.cuts, now.within):
        return state
    if mark is not None:
        mark = mark.minus(max(timedelta(), now.within - before.within))
        mark = mark if before.cuts == now.cuts else _lowest(mark, now)
    # That it was altered, or exceeded, stays to be found by this sync.
    kept = position.stamps and replace(position.stamps, cuts=now.cuts, within=now.within)
    return replace(state, position=replace(position, watermark=mark, stamps=kept))


def stamps_warning(spec: TableSpec, state: State | None, doubt: str) -> tuple[str, ...]:
    """The one warning of a table whose stamps are not known for the source's, or were not meanwhile: of the run that finds it first."""
    seen = position_of(state).stamps if state else None
    if not doubt and (altered := of_altered_stamps(spec, state)):
        return (f"{altered}: this run is best_effort; {check(spec.id)} finds rows that were missed",)
    if not doubt or (seen is not None and not seen.proven):
        return ()
    return (stamps_sentence(spec, doubt, landed=state is not None and state.clock is not None),)


def cure_of_stamps(spec: TableSpec, otherwise: str) -> str:
    """What to do where rows are not stamped: where the source writes them itself no stamp can be had."""
    cursor = _cursor(spec)
    return CURE_BY_SOURCE if cursor and _by_source(spec, cursor) else otherwise


def stamps_sentence(spec: TableSpec, doubt: str, *, landed: bool) -> str:
    """A doubt with what it means and its cure."""
    missed = f"; {check(spec.id)} finds rows that were missed" if landed else ""
    means = "runs are as good as its `holdback`" if spec.holdback else "its runs are best_effort"
    return f"{doubt}: {means}; {cure_of_stamps(spec, CURE)}{missed}"


def _by_source(spec: TableSpec, cursor: Cursor) -> str:
    """Why some rows have no stamp of their own, whoever stamps the others; empty if nothing shows such rows."""
    proofs = (proof for proof, _ in _needed(spec, cursor))
    return next((each.why for each in proofs if isinstance(each, Unproven) and each.by_source), "")


def _needed(spec: TableSpec, cursor: Cursor) -> Iterator[tuple[Proof, str]]:
    """What has to be proven, and what there is to say where nothing of the source writes it: of an upsert updates, too.

    A column that has no value yet leaves an insert to its fallback.
    """
    stampings, column = _stampings(spec, cursor), repr(cursor.column)
    if None in stampings:
        yield NOTHING, f"this source does not say what stamps {column}: it may be an application, by a clock of its own"
        return
    first, *others = (each for each in stampings if each)
    left = first.insert == NOTHING and first.stamps_updates and bool(others)
    yield (
        others[0].insert if left else first.insert,
        f"neither a default nor a trigger of the database stamps {repr(cursor.fallback) if left else column}: {_BY_AN_APPLICATION}",
    )
    if spec.traits.one_row_per_key:
        yield first.update, f"no trigger of the database stamps {column} at an update: {_BY_AN_APPLICATION}"


def _cursor(spec: TableSpec) -> Cursor | None:
    """The cursor by stamps; None where there is none."""
    cursor = spec.cursor
    by_stamps = cursor is not None and spec.read_by is not None and cursor.type.is_time and not cursor.by_transaction
    return cursor if by_stamps else None


def _stampings(spec: TableSpec, cursor: Cursor) -> tuple[Stamping | None, ...]:
    by_name = {column.name: column.stamps for column in spec.columns}
    return tuple(by_name.get(name) for name in stamped_columns(spec, cursor))


def _now(spec: TableSpec, cursor: Cursor) -> StampsSeen:
    stampings = [each for each in _stampings(spec, cursor) if each]
    return StampsSeen(
        cuts=tuple(sorted({cut for each in stampings for cut in each.cuts})),
        within=cursor.within or timedelta(),
        marks=";".join(each.marks for each in stampings if each.marks),
    )


def _lowest(value: CursorValue, seen: StampsSeen) -> CursorValue:
    return min((value, *(cut.lowest(value) for cut in seen.cuts)))


def _still_exceeded(cursor: Cursor, seen: StampsSeen) -> str:
    """The span that was declared when a row came later, where no longer one is declared since; empty if there is none."""
    exceeded = seen.exceeded
    return "" if exceeded is None or cursor.within is None or cursor.within > exceeded else format_duration(exceeded)
