"""Reasons why rows may appear below the settled bound: what the catalogue shows, and what it cannot prove. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from incremental_assets.core.model.column import Column, Sequence
from incremental_assets.core.model.cures import full_refresh, reset
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.table_shape import Arrival
from incremental_assets.core.model.time_zones import time_zone

_HALF = "its engine keeps transactions untracked, or has none, so that a read may show half of what a statement writes"
_ARRIVALS = {
    Arrival.SUBSCRIPTION: "its rows come by a logical subscription, with the stamps and numbers of another server, which commits them later",
    Arrival.FOREIGN: "it is a foreign table, or a part of it is, and the transactions of the other server cannot be seen",
    Arrival.MATERIALIZED: "it is a materialized view, and its rows appear at a REFRESH, with older stamps",
    Arrival.UNTRACKED: _HALF,
    Arrival.VIEW: "it is a view, and its rows may appear by a change in another table, with older stamps",
}

_LAST = {"smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1}
_LAST_DECLARED = {
    "tinyint": 2**7 - 1,
    "tinyint unsigned": 2**8 - 1,
    "smallint unsigned": 2**16 - 1,
    "mediumint": 2**23 - 1,
    "mediumint unsigned": 2**24 - 1,
    "int unsigned": 2**32 - 1,
    "bigint unsigned": 2**64 - 1,
}
"""Of types of the source that a wider one of Spark holds."""
_WIDTH = re.compile(r"\(\d+\)| zerofill")
"""The last number of each type that holds whole numbers, by its name in the copy."""


def of_snapshot(spec: TableSpec) -> str:
    """Why a read may show no one moment, whatever changes are found by."""
    return _HALF if Arrival.UNTRACKED in spec.shape.arrivals else ""


def of_arrival(spec: TableSpec) -> str:
    """Rows that become visible apart from the transaction that stamped them."""
    if spec.cursor is not None and spec.cursor.by_transaction:
        # Whatever its stamps and numbers are, a row has the number of the transaction that wrote it here.
        return ""
    return next((_ARRIVALS[arrival] for arrival in spec.shape.arrivals), "")


def of_shown(spec: TableSpec) -> str:
    """Columns that may show something else of a row that nobody has written: of those that have landed, nothing tells. What is read or compared whole shows it."""
    if spec.traits.overwrites or spec.compares:
        return ""
    found = next((column for column in spec.source_columns if column.shown_by), None)
    if found is None:
        return ""
    return f"what {found.name!r} shows does not depend on its row alone: {found.shown_by}, and no stamp moves when that changes"


def of_key(spec: TableSpec) -> str:
    """A copy of an earlier release, in which a key that is written anew stands beside the one that it replaces."""
    if spec.terms.collation is not None or not spec.traits.one_row_per_key:
        return ""
    words = ", ".join(f"{each.name!r}: {each.collation}" for each in spec.shape.compared(spec.key) if each.collation)
    return (
        "its copy was made by an earlier release and tells rows apart by how their keys are written, while the source takes keys for equal "
        f"that are written differently ({words}); {full_refresh(spec)} makes it anew"
    )


def of_logins(spec: TableSpec, trigger: str) -> str:
    """A trigger whose now() is the moment at which its client connected: nothing shows how long the login took."""
    if not trigger or spec.cursor is None or not spec.cursor.type.is_time:
        return ""
    return f"the event trigger {trigger} may write it when a session logs in, with the time at which its client had connected"


def of_numbers(spec: TableSpec) -> str:
    """Numbers that are not proven to be drawn by the transaction that writes them, each above all before it."""
    cursor = spec.cursor
    if cursor is None or cursor.type is not CursorType.INTEGER or cursor.by_transaction:
        return ""
    drawn = {column.sequence for column in spec.columns if column.name in stamped_columns(spec, cursor)}
    sequence = drawn.pop() if len(drawn) == 1 else None
    if sequence is None:
        return (
            f"nothing proves that a new {cursor.column!r} is the highest: no default draws it from one sequence of the database, "
            "and a trigger or an application that does cannot be seen"
        )
    if sequence.trigger:
        return (
            f"the trigger {sequence.trigger} may give {cursor.column!r} another number than the next of {sequence.name}"
        )
    if sequence.step < 0:
        return f"the sequence {sequence.name} counts down, and new rows come below the highest {cursor.column!r}"
    if sequence.cycles:
        return f"the sequence {sequence.name} has CYCLE, and begins again below the highest {cursor.column!r}"
    if not sequence.logged:
        return f"the sequence {sequence.name} is UNLOGGED, and after a crash of the server it begins again below the highest {cursor.column!r}"
    if sequence.cache > 1:
        return (
            f"the sequence {sequence.name} has CACHE {sequence.cache}: a session draws numbers in advance and may use them "
            "as long as it lives"
        )
    return ""


def of_unseen_sequence(spec: TableSpec) -> str:
    """A sequence that may stand below rows which have brought their numbers: whatever it draws next is lower, and nothing shows it."""
    sequence = _sequence_of(spec)
    if sequence is None or sequence.seen:
        return ""
    return (
        f"this user may not see how far the sequence {sequence.name} has come, as GRANT SELECT ON SEQUENCE {sequence.name} lets it: rows that have brought their numbers, "
        "as by an import without setval, may be above it, and the next ones are then not looked for"
    )


def of_last_number(spec: TableSpec, highest: CursorValue | None) -> str:
    """A row that has the last number there is stands for none, and says nothing of how far the others have come."""
    cursor = spec.cursor
    if cursor is None or highest is None or cursor.by_transaction:
        return ""
    if highest.text not in {str(_last_of(each)) for each in spec.columns if each.name in stamped_columns(spec, cursor)}:
        return ""
    return (
        f"a row has {highest} as its {cursor.column!r}, the last number of the type: rows that come have lower ones, and are not looked for; "
        "leave that row out by a view, or take a cursor that every write raises"
    )


def _last_of(column: Column) -> int | None:
    declared = _WIDTH.sub("", column.source_type.lower())
    return _LAST_DECLARED.get(declared, _LAST.get(column.spark_type))


def of_fallen(spec: TableSpec, read: CursorValue | None, highest: CursorValue | None) -> str:
    """Numbers that may have begun again, as the highest is lower than one that was read: unless the source shows that it has only been deleted."""
    cursor = spec.cursor
    if cursor is None or cursor.by_transaction or read is None or highest is None or not highest < read:
        return ""
    drawn = [column.sequence for column in spec.columns if column.name in stamped_columns(spec, cursor)]
    if all(each and (not each.restarts or (each.last is not None and each.last >= int(read.text))) for each in drawn):
        return ""
    return (
        f"the highest {cursor.column!r} is {highest} where {read} had been read: it may have been deleted, or numbers have begun again, "
        "and rows below the watermark are not read"
    )


def drawn_from(spec: TableSpec) -> Sequence | None:
    """The one sequence that the numbers of an integer cursor come from, where its user may see how far it is."""
    sequence = _sequence_of(spec)
    return sequence if sequence is not None and sequence.seen and sequence.step > 0 else None


def _sequence_of(spec: TableSpec) -> Sequence | None:
    cursor = spec.read_by
    if cursor is None or cursor.type is not CursorType.INTEGER or cursor.by_transaction:
        return None
    drawn = {column.sequence for column in spec.columns if column.name in stamped_columns(spec, cursor)}
    return drawn.pop() if len(drawn) == 1 else None


def of_brought(spec: TableSpec, highest: CursorValue | None, drawn: int | None) -> str:
    """A row that has brought a number which its sequence has not come to: whatever that draws next is lower."""
    sequence = drawn_from(spec)
    if highest is None or drawn is None or sequence is None or int(highest.text) <= drawn or spec.cursor is None:
        return ""
    return (
        f"a row has {highest} as its {spec.cursor.column!r}, which it has brought itself, as the sequence {sequence.name} is at {drawn}: the watermark stays there, and a row that brings "
        "a lower number is missed; set the sequence to the highest number, or leave rows that stand for none out by a view"
    )


def numbered_apart(spec: TableSpec) -> str:
    """A sequence from which libraries draw one number for many rows: no doubt by itself, as the server cannot see whether one does."""
    drawn = [
        column.sequence for column in spec.columns if spec.cursor and column.name in stamped_columns(spec, spec.cursor)
    ]
    sequence = next((each for each in drawn if each and each.step > 1 and not each.always), None)
    if sequence is None or of_numbers(spec):
        return ""
    return (
        f"the sequence {sequence.name} counts by {sequence.step}, as libraries have it that count on from one number in memory and "
        "write those later"
    )


def of_roles(spec: TableSpec, zone: str, clock: datetime) -> str:
    """A role that may write, and whose sessions stamp in another zone than the one in which stamps are read."""
    cursor = spec.cursor
    if cursor is None or not cursor.is_zoneless:
        return ""
    other = next((role for role in spec.shape.zones if not alike(role.zone, zone, clock)), None)
    if other is None:
        return ""
    return f"{other.who} may write it and has TimeZone {other.zone}, while {cursor.column!r} is read in {zone}"


def of_guessed_zone(spec: TableSpec, *, is_guess: bool) -> str:
    """A database whose zone cannot be seen by a user that begins with one of its own, and that nobody has named."""
    cursor = spec.cursor
    if cursor is None or not cursor.is_zoneless or cursor.zone is not None or not is_guess:
        return ""
    return (
        f"the user that reads begins with a TimeZone of its own, so that the server's, in which {cursor.column!r} is stamped, cannot be seen; name it by "
        "`cursor: {zone: …}`"
    )


def of_zones(spec: TableSpec, zone: str, known: tuple[str, ...], clock: datetime) -> str:
    """Another zone in which stamps were read before: sessions that began then may continue to stamp in it."""
    cursor = spec.cursor
    others = [each for each in known if not alike(each, zone, clock)]
    if cursor is None or not cursor.is_zoneless or not others:
        return ""
    return (
        f"{cursor.column!r} was read in {', '.join(others)} and now is in {zone}: stamps in each of them are read, until "
        f"{reset(spec)} says that none of the old ones is left"
    )


def alike(one: str, other: str, clock: datetime) -> bool:
    """Whether two zones read the same all year, such as UTC and Etc/UTC: a day of the last and the next year at a time."""
    if one == other:
        return True
    first, second = time_zone(one), time_zone(other)
    if first is None or second is None:
        return False
    noon = clock.astimezone(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    days = [noon + timedelta(days=day) for day in range(-366, 367)]
    return all(len({day.astimezone(zone).utcoffset() for zone in (first, second)}) == 1 for day in days)


def stamped_columns(spec: TableSpec, cursor: Cursor) -> tuple[str, ...]:
    """The columns whose values may be the cursor of a row."""
    nullable = any(column.nullable for column in spec.columns if column.name == cursor.column)
    return cursor.columns if nullable else (cursor.column,)
