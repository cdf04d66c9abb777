"""What stamps the columns of times of one table of MariaDB or MySQL. Pure, from what `information_schema` says of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from incremental_assets.adapters.databases.mysql.stamps.expression import Columns, no_columns, read_all
from incremental_assets.adapters.databases.mysql.stamps.trigger import INSERT, UPDATE, may_bring, outcome_of
from incremental_assets.adapters.databases.mysql.unstamped import NONE, Unstamped
from incremental_assets.adapters.databases.stamps.brought import but_for, zone_of
from incremental_assets.adapters.databases.stamps.proof import Found, of_default, of_trigger
from incremental_assets.adapters.databases.stamps.reading import MOMENT, Reading, grain_of
from incremental_assets.adapters.databases.stamps.steps import KEPT, UNKNOWN
from incremental_assets.adapters.databases.stamps.tokens import NotRead, NotStamped
from incremental_assets.core.model.stamping import Cut, Stamping, Unit, Unproven

_PLAIN = re.compile(r"current_timestamp(\((\d?)\))?", re.IGNORECASE)
"""The server's own time of the statement, which a column of moments stores as it is."""
_ON_UPDATE = re.compile(rf"\bon update ({_PLAIN.pattern})", re.IGNORECASE)
_DIGITS = re.compile(r"(?:datetime|timestamp)(?:\((\d)\))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declared:
    """A column of times as the catalogue has it: its type, its default or what it is generated from, and what is said beside."""

    name: str
    kind: str
    default: str
    generated: str
    extra: str
    nullable: bool = False

    @property
    def is_moment(self) -> bool:
        """Whether it holds moments, and not what a wall clock shows."""
        return self.kind.lower().startswith("timestamp")

    @property
    def is_read_anew(self) -> bool:
        """Whether it is computed when it is read: in the session of whoever reads, whose time zone is UTC where that is us."""
        return "VIRTUAL" in self.extra.upper()

    @property
    def grain(self) -> tuple[Cut, ...]:
        """What its type cuts, or rounds: whole seconds where no digits are written."""
        found = _DIGITS.match(self.kind)
        return grain_of(int(found[1] or 0)) if found else ()


@dataclass(frozen=True, slots=True)
class Trigger:
    """One that runs before or after each row is written, and when it was made."""

    name: str
    event: str
    statement: str
    created: str
    timing: str = "BEFORE"


def stamping_of(
    column: Declared, table: Sequence[Declared], triggers: Sequence[Trigger], beside: Unstamped = NONE
) -> Stamping:
    """What stamps it; the triggers in the order in which they run, and `beside` what the server writes without any of it."""
    insert, update = (_written(column, table, triggers, event) for event in (INSERT, UPDATE))
    writers = [each for each in triggers if outcome_of(each.statement, column.name, each.event) != KEPT]
    marks = tuple((each.name, each.created) for each in writers)
    return Stamping(
        insert=_but(beside.inserts) or insert.proves(column.name, as_moment=column.is_moment),
        update=_but(beside.updates) or update.proves(column.name, as_moment=column.is_moment),
        grain=column.grain,
        marks=hashlib.sha256(repr(marks).encode()).hexdigest()[:16] if marks else "",
    )


def without_brought(stamping: Stamping, table: str, column: str, others: Sequence[Trigger]) -> Stamping:
    """The same, but for the stamps that triggers of other tables give rows of this one."""
    zone = zone_of(stamping.insert, stamping.update)
    found = (each.name for each in others if may_bring(each.statement, table, column, zone))
    name = next(found, "")
    if not name:
        return stamping
    why = f"the trigger {name}, which writes rows of the table, may give {column!r} another value than the database's own time"
    return replace(stamping, insert=but_for(stamping.insert, why), update=but_for(stamping.update, why))


def _but(why: str) -> Unproven | None:
    return Unproven(why, by_source=True) if why else None


def renumbering(column: str, triggers: Sequence[Trigger]) -> str:
    """A trigger that may give the column of a row that is inserted another number than the server has drawn; empty where none does."""
    at_insert = (each for each in triggers if each.event == INSERT)
    return next((each.name for each in at_insert if outcome_of(each.statement, column, INSERT) != KEPT), "")


def _written(column: Declared, table: Sequence[Declared], triggers: Sequence[Trigger], event: str) -> Found:
    if column.generated:
        return _of_expression(column, column.generated, _held(column, table, triggers, event))
    found = _by_itself(column, event)
    for trigger in triggers:
        if trigger.event == event:
            outcome = outcome_of(trigger.statement, column.name, event, column.nullable)
            outcome = _converted(column, outcome) if isinstance(outcome, Reading) else outcome
            found = found.then(outcome, of_trigger(column.name, trigger.name))
    return found


def _by_itself(column: Declared, event: str) -> Found:
    """What a row gets without a trigger."""
    text = column.default
    if event == UPDATE:
        found = _ON_UPDATE.search(column.extra)
        text = found[1] if found else ""
    if not text or text.upper() == "NULL":
        return Found(KEPT)
    if plain := _PLAIN.fullmatch(text):
        return Found(replace(MOMENT, cuts=grain_of(int(plain[2] or 0))))
    return _of_expression(column, text, no_columns)


def _of_expression(column: Declared, text: str, columns: Columns) -> Found:
    why = of_default(column.name, text)
    try:
        return Found(_converted(column, read_all(text, columns)), why)
    except NotStamped:
        return Found(KEPT)
    except NotRead:
        return Found(UNKNOWN, why)


def _converted(column: Declared, found: Reading) -> Reading:
    """A wall clock's reading as a column of moments stores it: in an hour that comes twice it may be taken for the first."""
    return found.cut(Unit.HOUR) if column.is_moment and not found.is_moment else found


def _held(column: Declared, table: Sequence[Declared], triggers: Sequence[Trigger], event: str) -> Columns:
    """What the other columns of a row hold, of one that is generated from them."""

    def held(name: str) -> Reading:
        other = next((each for each in table if each.name == name and not each.generated), None)
        found = _written(other, table, triggers, event).outcome if other else UNKNOWN
        if found == KEPT:
            raise NotStamped
        stamp = found.stored(as_moment=other.is_moment) if other and isinstance(found, Reading) else None
        if other is None or stamp is None or (column.is_read_anew and column.is_moment and not other.is_moment):
            # What is stored of a wall clock would be taken for another moment in our session than in that which wrote it.
            raise NotRead
        # A column of moments is read as the wall clock of the session shows it.
        zone = "UTC" if column.is_read_anew and other.is_moment else stamp.zone
        return Reading(is_moment=False, zone=zone, cuts=(*stamp.cuts, *other.grain))

    return held
