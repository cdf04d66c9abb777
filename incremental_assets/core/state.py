"""The resumable state of one table: what every landed checkpoint and every commit in the lake carries.

One JSON document, versioned, so that a lost checkpoint table is rebuilt from the lake alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from incremental_assets.core.cursor import CursorType, CursorValue
from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.table import Strategy, Terms
from incremental_assets.core.window import Window, gaps, merge

VERSION = 2
"""2: what a stricter guarantee keeps; fields that a document of version 1 lacks are read as not known."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a snapshot showed at or above `lower`: equal later means that nothing moved. `digest` sums hashes of row versions."""

    lower: CursorValue | None
    rows: int
    highest: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class Settling:
    """The highest integer read, and the source's clock just after: settled once no transaction older than that clock is open."""

    highest: CursorValue
    clock: datetime


@dataclass(frozen=True, slots=True)
class Identity:
    """Which database answered, and how far its log had come. `position` is the WAL position in bytes."""

    system: str
    database: str
    timeline: int
    position: int


@dataclass(frozen=True, slots=True)
class State:
    """All that the next sync needs to go on from `seq`."""

    app_id: str
    seq: int
    batch_id: str
    terms: Terms
    watermark: CursorValue | None = None
    max_cursor_read: CursorValue | None = None
    settling: Settling | None = None
    fingerprint: Fingerprint | None = None
    identity: Identity | None = None
    clock: datetime | None = None
    """The source's clock of the last sync; None before the first, and after a reset."""
    due: CursorValue | None = None
    """The smallest stamp past the source's clock that went to quarantine: its row lands once that time has come, though nothing moves."""
    rows: int | None = None
    """Rows of the last whole read, against which a shrunken source is noticed."""
    coverage: tuple[Window, ...] = ()
    members: tuple[int, ...] | None = None
    """The partitions and children whose rows have been read, by the source's own numbers; None: not known."""
    zones: tuple[str, ...] = ()
    """In which zone stamps without one are read, and behind it every other in which they were since the last reset."""

    columns: tuple[tuple[str, str], ...] = ()
    """Every column that landed, by name, and the source's identity of it; see `Column.identity`."""

    def unread(self, start: CursorValue | None, upper: CursorValue | None) -> tuple[Window, ...]:
        """Windows from `start` up to `upper` that no sync has read, ascending."""
        return gaps(self.coverage, Window(start, upper)) if start is None or upper is None or start <= upper else ()

    def rewound(self, terms: Terms, watermark: CursorValue | None) -> State:
        """What `reset` leaves: the next sync reads from `watermark` (None: from `start`) on these terms, whichever source answers.

        An append looks for its rows among those that landed, so `max_cursor_read` stays, unless it belongs to another cursor.
        """
        same = self.terms.cursor == terms.cursor
        covered = tuple(window.clamp_upper(watermark) for window in self.coverage if same and watermark is not None)
        return replace(
            self,
            terms=terms,
            watermark=watermark,
            max_cursor_read=self.max_cursor_read if same else None,
            settling=None,
            fingerprint=None,
            identity=None,
            clock=None,
            due=None,
            rows=None,
            coverage=merge(covered),
            zones=(),
            columns=(),
        )

    def forgotten(self, seq: int) -> State:
        """Nothing is known of what landed up to `seq`: the next sync reads from `start`, and an append looks through the whole table."""
        return replace(
            self.rewound(self.terms, None), seq=seq, batch_id="", max_cursor_read=None, identity=self.identity
        )

    def to_json(self) -> str:
        """One line of JSON, stable in its order."""
        document = {
            "version": VERSION,
            "app_id": self.app_id,
            "seq": self.seq,
            "batch_id": self.batch_id,
            "terms": {"strategy": self.terms.strategy, "key": list(self.terms.key), "cursor": self.terms.cursor},
            "watermark": _dump(self.watermark),
            "max_cursor_read": _dump(self.max_cursor_read),
            "settling": self.settling
            and {"highest": _dump(self.settling.highest), "clock": self.settling.clock.isoformat()},
            "fingerprint": self.fingerprint
            and {
                "lower": _dump(self.fingerprint.lower),
                "rows": self.fingerprint.rows,
                "highest": self.fingerprint.highest,
                "digest": self.fingerprint.digest,
            },
            "identity": self.identity
            and {
                "system": self.identity.system,
                "database": self.identity.database,
                "timeline": self.identity.timeline,
                "position": self.identity.position,
            },
            "clock": self.clock and self.clock.isoformat(),
            "due": _dump(self.due),
            "rows": self.rows,
            "coverage": [[_dump(window.lower), _dump(window.upper)] for window in self.coverage],
            "members": None if self.members is None else list(self.members),
            "zones": list(self.zones),
            "columns": dict(self.columns),
        }
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> State:
        """Read it back; a document of a later version is refused rather than half understood."""
        document = json.loads(text)
        if document["version"] > VERSION:
            raise CheckpointsTooNew(
                f"the state of a sync is written in version {document['version']} and this program reads up to {VERSION}: upgrade incremental-assets"
            )
        terms, settling, fingerprint, identity = (
            document[name] for name in ("terms", "settling", "fingerprint", "identity")
        )
        return cls(
            app_id=document["app_id"],
            seq=document["seq"],
            batch_id=document["batch_id"],
            terms=Terms(Strategy(terms["strategy"]), tuple(terms["key"]), terms["cursor"]),
            watermark=_load(document["watermark"]),
            max_cursor_read=_load(document["max_cursor_read"]),
            settling=settling and Settling(_some(settling["highest"]), _clock(settling["clock"])),
            fingerprint=fingerprint
            and Fingerprint(
                _load(fingerprint["lower"]), fingerprint["rows"], fingerprint["highest"], fingerprint["digest"]
            ),
            identity=identity and Identity(**identity),
            clock=document["clock"] and _clock(document["clock"]),
            due=_load(document.get("due")),
            rows=document["rows"],
            coverage=tuple(Window(_load(lower), _load(upper)) for lower, upper in document["coverage"]),
            members=None if document.get("members") is None else tuple(document["members"]),
            zones=tuple(document.get("zones", ())),
            columns=tuple(document.get("columns", {}).items()),
        )


def _dump(value: CursorValue | None) -> list[str] | None:
    return None if value is None else [value.type, value.text]


def _load(pair: Any) -> CursorValue | None:
    return None if pair is None else CursorValue(CursorType(pair[0]), pair[1])


def _some(pair: Any) -> CursorValue:
    value = _load(pair)
    if value is None:
        raise ValueError("a settling pair without its value")
    return value


def _clock(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
