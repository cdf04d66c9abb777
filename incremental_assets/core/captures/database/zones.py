"""Stamps without a zone that are now read in another zone: how far back new ones can lie. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from zoneinfo import ZoneInfo

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.doubts import alike
from incremental_assets.core.captures.database.local_readings import lowest_reading, zone_of
from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.model.cures import reset
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec


def zones_of(cursor: Cursor | None, bound: Bound, known: tuple[str, ...]) -> tuple[str, ...]:
    """The zone in which stamps are read now, followed by earlier ones: sessions may still stamp in those."""
    if cursor is None or not cursor.is_zoneless:
        return ()
    zone = zone_of(cursor, bound)
    return (zone, *(other for other in known if not alike(other, zone, bound.clock)))


def rezoned(spec: TableSpec, state: State | None, bound: Bound) -> State | None:
    """The state, moved back below every stamp that the new zone can still produce, if its zone was another."""
    cursor = spec.cursor
    if state is None or cursor is None or not position_of(state).zones or spec.read_by is None:
        return state
    zones = zones_of(cursor, bound, position_of(state).zones)
    if zones[1:] == position_of(state).zones[1:] and len(zones) == len(position_of(state).zones):
        return state
    mark = state.position.watermark
    lowered = mark and min(mark, _reread(cursor, bound, mark, position_of(state).zones))
    return replace(state, position=replace(position_of(state), zones=zones, watermark=lowered))


def rezoned_warning(spec: TableSpec, before: State | None, after: State | None) -> tuple[str, ...]:
    """Warnings for people."""
    if before is None or after is None or position_of(before).zones == position_of(after).zones:
        return ()
    was, now = position_of(before).zones[0], position_of(after).zones[0]
    rewound = f", so that the watermark went from {before.position.watermark} to {after.position.watermark}"
    sentence = (
        f"stamps without a zone were read in {was} and are now in {now}{rewound if after.position.watermark != before.position.watermark else ''}; "
        f"if {now} was right all along, {reset(spec)} reads what was missed"
    )
    return (sentence,)


def _reread(cursor: Cursor, bound: Bound, mark: CursorValue, zones: tuple[str, ...]) -> CursorValue:
    """The smallest local time in today's zone at or after the first instant at which any of the zones showed the watermark."""
    lowest = CursorValue(cursor.type, "-infinity")
    try:
        shown = mark.moment()
        instants = [
            shown.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for zone in zones for fold in (0, 1)
        ]
        return lowest_reading(cursor, bound, min(instants))
    except (OverflowError, ValueError):
        # Outside of Python's calendar: too low a bound only reads more.
        return lowest
