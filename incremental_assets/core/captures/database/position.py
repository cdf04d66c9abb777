"""How far a table of a database has been read: what one sync leaves to the next, and a reset moves back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from incremental_assets.core.model.clock_reading import ClockReading, PutBack, moment
from incremental_assets.core.model.cursor import CursorValue, dump_value, load_value
from incremental_assets.core.model.fingerprint import Fingerprint, LastRead
from incremental_assets.core.model.key_range import Place
from incremental_assets.core.model.position import Position
from incremental_assets.core.model.stamping import StampsSeen
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import Window, merge

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Settling:
    """The highest integer read, and the source's clock just after, or a later begin of a transaction that was open: settled once none is open
    that began up to then, and the source's log is on disk as far as it had been written: a crash before that gives the numbers out again."""

    highest: CursorValue
    clock: datetime
    written: int | None = None
    """The position up to which the log had been written; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Loading:
    """How far a first load has come that goes range by range of the key."""

    key: tuple[str, ...]
    """The columns of the key."""
    after: Place
    """The last key of the last range that landed."""
    clock: datetime
    """The source's, of the first look."""
    rows: int
    """Rows that were read so far."""
    then: DatabasePosition
    """The position once all ranges have landed: as the first look left it."""
    alone: bool = True
    """Whether nothing but ranges has landed since it began."""

    def to_json(self) -> dict[str, Any]:
        """As part of a state's document."""
        return {
            "key": list(self.key),
            "after": list(self.after),
            "clock": self.clock.isoformat(),
            "rows": self.rows,
            "then": self.then.to_json(),
            "alone": self.alone,
        }


@dataclass(frozen=True, slots=True)
class DatabasePosition(Position):
    """Implements `Position`; empty at first. Of a table that is read or compared as a whole there is little to keep."""

    watermark: CursorValue | None = None
    """The value below which everything has settled and was read."""
    max_cursor_read: CursorValue | None = None
    """The highest cursor of any row that landed: none of the target lies above it."""
    settling: Settling | None = None
    """Numbers that were read and may still be joined by others below them."""
    due: CursorValue | None = None
    """The smallest stamp past the source's clock that went to quarantine: its row lands once that time has come, though nothing moves."""
    fingerprint: Fingerprint | None = None
    reading: ClockReading | None = None
    """The source's clock of the last sync that moved the watermark, though it found nothing to read."""
    put_back: PutBack | None = None
    """The time that the source's clock shows a second time; None if it was not put back, or has passed it."""
    coverage: tuple[Window, ...] = ()
    members: tuple[int, ...] | None = None
    """The partitions and children whose rows have been read, by the source's own numbers; None: not known."""
    zones: tuple[str, ...] = ()
    """The zone in which stamps without one are read, and behind it every other in which they were since the last reset."""
    last_read: LastRead | None = None
    """What the next sync need not read again; None where it must read all from the watermark on."""
    stamps: StampsSeen | None = None
    """How rows were stamped at the last sync; None where that is not known, and after a reset."""
    updates: int | None = None
    """Updates that the source had counted in the table by then, where an append does not copy them."""
    loading: Loading | None = None
    """Where a first load goes on; all else is then empty but the highest cursor that landed, as nothing is known to have been read."""

    def __str__(self) -> str:
        return str(self.watermark or "nothing")

    @property
    def zone(self) -> str:
        """The one in force."""
        return self.zones[0] if self.zones else "UTC"

    @property
    def provisional(self) -> int | None:
        """Those above the watermark: at most those of the fingerprint."""
        seen, mark = self.fingerprint, self.watermark
        if seen is None or mark is None:
            return None
        return 0 if seen.highest is None or CursorValue.parse(mark.type, seen.highest) < mark else seen.rows

    @property
    def unfinished(self) -> str:
        """How far a first load has come."""
        return "" if self.loading is None else f"its first load has read {self.loading.rows:,} rows and goes on"

    def lowered(self, watermark: CursorValue | None) -> DatabasePosition:
        """What lies above a watermark that was put back is no longer covered."""
        return replace(self, watermark=watermark, coverage=self.covered_below(watermark))

    def covered_below(self, watermark: CursorValue | None) -> tuple[Window, ...]:
        """What was covered, less what lies above a watermark that was put back."""
        if watermark is None or self.watermark is None or self.watermark <= watermark:
            return self.coverage
        return tuple(window for each in self.coverage if not (window := each.clamp_upper(watermark)).is_empty)

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> DatabasePosition:
        """Late rows are found by comparison with landed ones, so the highest value read stays, unless the cursor changed."""
        keeps = same_cursor and watermark is not None
        covered = merge(window.clamp_upper(watermark) for window in self.coverage) if keeps else ()
        read = self.max_cursor_read if same_cursor else None
        return replace(self.forgotten(), watermark=watermark, max_cursor_read=read, coverage=covered)

    def forgotten(self) -> DatabasePosition:
        """What has joined the table since, and was counted in it, is still found."""
        return DatabasePosition(members=self.members, updates=self.updates)

    def moved(self) -> DatabasePosition:
        """Row versions may have other places there, so that what is provisional is read again. What is known of the clock stays."""
        return replace(self, fingerprint=None, last_read=None)

    def unchecked(self) -> DatabasePosition:
        """Nothing may be appended unchecked."""
        return replace(self, max_cursor_read=None)

    def rolled_back(self, now: Position) -> DatabasePosition:
        """What its clock did stays known, unless a reset has forgotten it. Whatever lies above the watermark is read again."""
        since = now if isinstance(now, DatabasePosition) else UNREAD
        reading = since.reading or self.reading
        return replace(self, reading=reading, put_back=since.put_back, fingerprint=None, last_read=None)

    def to_json(self) -> dict[str, Any]:
        """What came after the first version stands beside the watermark."""
        return {
            "position": {
                "watermark": dump_value(self.watermark),
                "max_cursor_read": dump_value(self.max_cursor_read),
                "settling": self.settling
                and {
                    "highest": dump_value(self.settling.highest),
                    "clock": self.settling.clock.isoformat(),
                    "written": self.settling.written,
                },
                "due": dump_value(self.due),
            },
            "fingerprint": self.fingerprint and self.fingerprint.to_json(),
            "reading": self.reading and self.reading.to_json(),
            "put_back": self.put_back and self.put_back.to_json(),
            "coverage": [[dump_value(window.lower), dump_value(window.upper)] for window in self.coverage],
            "members": None if self.members is None else list(self.members),
            "zones": list(self.zones),
            "last_read": self.last_read and self.last_read.to_json(),
            "stamps": self.stamps and self.stamps.to_json(),
            "updates": self.updates,
            **({"loading": self.loading.to_json()} if self.loading else {}),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DatabasePosition:
        """Read it back from a state's document; what an older one lacks is not known."""
        # Up to version 2 its fields stood among the others.
        own = document["position"] if document["version"] >= 3 else document
        return cls(
            watermark=load_value(own["watermark"]),
            max_cursor_read=load_value(own["max_cursor_read"]),
            # Version 1 ignored transactions that began after that clock.
            settling=_load_settling(own["settling"]) if document["version"] > 1 else None,
            due=load_value(own.get("due")),
            fingerprint=_read(Fingerprint.from_json, document["fingerprint"]),
            reading=_read(ClockReading.from_json, document.get("reading")),
            put_back=_read(PutBack.from_json, document.get("put_back")),
            coverage=tuple(Window(load_value(lower), load_value(upper)) for lower, upper in document["coverage"]),
            members=_read(tuple, document.get("members")),
            zones=tuple(document.get("zones", ())),
            last_read=_read(LastRead.from_json, document.get("last_read")),
            stamps=_read(StampsSeen.from_json, document.get("stamps")),
            updates=document.get("updates"),
            loading=_load_loading(document),
        )


UNREAD = DatabasePosition()
"""Nothing is known to have been read."""


def position_of(state: State | None) -> DatabasePosition:
    """How far a table of a database has been read; nothing before the first sync."""
    if state is None:
        return UNREAD
    if not isinstance(state.position, DatabasePosition):
        raise TypeError(f"no database was read so far: {type(state.position).__name__}")
    return state.position


def _read(read: Callable[[Any], _Value], kept: Any) -> _Value | None:
    return None if kept is None else read(kept)


def _load_loading(document: Mapping[str, Any]) -> Loading | None:
    found = document.get("loading")
    if found is None:
        return None
    then = DatabasePosition.from_json({"version": document["version"], **found["then"]})
    return Loading(
        tuple(found["key"]), tuple(found["after"]), moment(found["clock"]), found["rows"], then, found["alone"]
    )


def _load_settling(kept: Any) -> Settling | None:
    highest = load_value(kept["highest"]) if kept else None
    if highest is None:
        return None
    return Settling(highest, moment(kept["clock"]), kept.get("written"))
