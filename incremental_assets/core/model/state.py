"""The resumable state of one table: what every landed checkpoint and every commit in the lake carries.

One JSON document, versioned, so that a lost checkpoint table is rebuilt from the lake alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from incremental_assets.core.errors import CheckpointsTooNew
from incremental_assets.core.model.clock_reading import ClockReading, PutBack, moment
from incremental_assets.core.model.cursor import CursorValue, dump_value, load_value
from incremental_assets.core.model.definition import Definition
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.fingerprint import Fingerprint, LastRead
from incremental_assets.core.model.position import UNREAD, Position
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.stamping import StampsSeen
from incremental_assets.core.model.table import Terms
from incremental_assets.core.model.unfilled import Unfilled
from incremental_assets.core.model.window import Window, gaps, merge
from incremental_assets.core.strategies import Strategy

_Value = TypeVar("_Value")

VERSION = 3
"""2: what a stricter guarantee keeps; fields that a document of version 1 lacks are read as not known. 3: the position is a value of its own."""


@dataclass(frozen=True, slots=True)
class State:
    """All that the next sync needs to go on from `seq`."""

    app_id: str
    seq: int
    batch_id: str
    terms: Terms
    position: Position = UNREAD
    fingerprint: Fingerprint | None = None
    identity: SourceIdentity | None = None
    clock: datetime | None = None
    """The source's clock of the last sync; None before the first, and after a reset."""
    reading: ClockReading | None = None
    """The same of the last sync that moved the watermark, though it found nothing to read."""
    put_back: PutBack | None = None
    """The time that the source's clock shows a second time; None if it was not put back, or has passed it."""
    rows: int | None = None
    """Rows of the last whole read, against which a shrunken source is noticed."""
    coverage: tuple[Window, ...] = ()
    members: tuple[int, ...] | None = None
    """The partitions and children whose rows have been read, by the source's own numbers; None: not known."""
    zones: tuple[str, ...] = ()
    """The zone in which stamps without one are read, and behind it every other in which they were since the last reset."""

    columns: tuple[tuple[str, str], ...] = ()
    """Every column that landed, by name, and the source's identity of it (empty where it has none); see `Column.identity`."""
    absent: tuple[str, ...] = ()
    """Those of them that the source did not show when something landed last: renamed, dropped, or not granted."""
    discarded: tuple[str, ...] = ()
    """New columns of the source that are not read, and that a run has reported."""
    changed: tuple[SchemaChange, ...] = ()
    """What the landing that left this state changed of the columns."""
    last_read: LastRead | None = None
    """What the next sync need not read again; None where it must read all from the watermark on."""
    compared: KeysCompared | None = None
    """When keys were last compared, where deletes are followed; None where that is due."""
    unfilled: Unfilled | None = None
    """Columns whose values rows that landed before still lack."""
    definition: Definition | None = None
    """What the source's catalogue said of the table for which the copy was last brought up to date; None: not known."""
    stamps: StampsSeen | None = None
    """How rows were stamped at the last sync; None where that is not known, and after a reset."""
    updates: int | None = None
    """Updates that the source had counted in the table by then, where an append does not copy them."""

    def unread(self, start: CursorValue | None, upper: CursorValue | None) -> tuple[Window, ...]:
        """Windows from `start` up to `upper` that no sync has read, ascending."""
        return gaps(self.coverage, Window(start, upper)) if start is None or upper is None or start <= upper else ()

    def rewound(self, terms: Terms, watermark: CursorValue | None) -> State:
        """What `reset` leaves: the next sync reads from `watermark` (None: from `start`) on these terms, whichever source answers."""
        same = self.terms.same_cursor(terms)
        covered = tuple(window.clamp_upper(watermark) for window in self.coverage if same and watermark is not None)
        return replace(
            self,
            terms=terms,
            position=self.position.rewound(watermark, same_cursor=same),
            fingerprint=None,
            identity=None,
            clock=None,
            reading=None,
            put_back=None,
            rows=None,
            coverage=merge(covered),
            zones=(),
            # The copy still has them, whichever columns the source has under these names now.
            columns=tuple((name, "") for name, _ in self.columns),
            # From another watermark on, rows below it still show what they showed.
            absent=self.absent if watermark is not None else (),
            last_read=None,
            compared=None,
            # What is read again brings its values along.
            unfilled=self.unfilled if same and watermark is not None else None,
            definition=self.definition if watermark is not None else None,
            stamps=None,
        )

    def moved_to_another_cluster(self) -> State:
        """The same table in another cluster, as `pg_upgrade` leaves it: whichever database answers next is the one from then on.

        Row versions may have other places there, so that what is provisional is read again. What is known of the clock stays.
        """
        return replace(self, identity=None, fingerprint=None, last_read=None, compared=None)

    def forgotten(self, seq: int) -> State:
        """Nothing is known of what landed up to `seq`: the next sync reads from `start`, and an append looks through the whole table."""
        return replace(self.rewound(self.terms, None), seq=seq, batch_id="", position=UNREAD, identity=self.identity)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Columns whose values rows that landed before still lack."""
        return self.unfilled.columns if self.unfilled else ()

    def to_json(self) -> str:
        """One line of JSON, stable in its order."""
        document = {
            "version": VERSION,
            "app_id": self.app_id,
            "seq": self.seq,
            "batch_id": self.batch_id,
            "terms": {
                "strategy": self.terms.strategy,
                "key": list(self.terms.key),
                "cursor": self.terms.cursor,
                "fallback": self.terms.fallback,
                "collation": self.terms.collation,
            },
            "position": self.position.to_json(),
            "fingerprint": self.fingerprint and self.fingerprint.to_json(),
            "identity": self.identity and self.identity.to_json(),
            "clock": self.clock and self.clock.isoformat(),
            "reading": self.reading and self.reading.to_json(),
            "put_back": self.put_back and self.put_back.to_json(),
            "rows": self.rows,
            "coverage": [[dump_value(window.lower), dump_value(window.upper)] for window in self.coverage],
            "members": None if self.members is None else list(self.members),
            "zones": list(self.zones),
            "columns": dict(self.columns),
            "absent": list(self.absent),
            "discarded": list(self.discarded),
            "changed": [change.to_json() for change in self.changed],
            "last_read": self.last_read and self.last_read.to_json(),
            "compared": self.compared and self.compared.to_json(),
            "unfilled": self.unfilled and self.unfilled.to_json(),
            "definition": None if self.definition is None else dict(self.definition),
            "stamps": self.stamps and self.stamps.to_json(),
            "updates": self.updates,
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
        terms = document["terms"]
        return cls(
            app_id=document["app_id"],
            seq=document["seq"],
            batch_id=document["batch_id"],
            terms=Terms(
                Strategy(terms["strategy"]),
                tuple(terms["key"]),
                terms["cursor"],
                terms.get("fallback"),
                terms.get("collation"),
            ),
            position=_load_position(document),
            fingerprint=_read(Fingerprint.from_json, document["fingerprint"]),
            identity=_read(SourceIdentity.from_json, document["identity"]),
            clock=_read(moment, document["clock"]),
            reading=_read(ClockReading.from_json, document.get("reading")),
            put_back=_read(PutBack.from_json, document.get("put_back")),
            rows=document["rows"],
            coverage=tuple(Window(load_value(lower), load_value(upper)) for lower, upper in document["coverage"]),
            members=None if document.get("members") is None else tuple(document["members"]),
            zones=tuple(document.get("zones", ())),
            columns=tuple(document.get("columns", {}).items()),
            absent=tuple(document.get("absent", ())),
            discarded=tuple(document.get("discarded", ())),
            changed=tuple(SchemaChange.from_json(change) for change in document.get("changed", ())),
            last_read=_read(LastRead.from_json, document.get("last_read")),
            compared=_read(KeysCompared.from_json, document.get("compared")),
            unfilled=Unfilled.from_json(document["unfilled"]) if document.get("unfilled") else None,
            definition=None if document.get("definition") is None else tuple(document["definition"].items()),
            stamps=_read(StampsSeen.from_json, document.get("stamps")),
            updates=document.get("updates"),
        )


def _load_position(document: Any) -> Position:
    # Up to version 2 its fields stood among the others.
    position = Position.from_json(document["position"] if document["version"] >= 3 else document)
    # Version 1 ignored transactions that began after that clock.
    return replace(position, settling=None) if document["version"] < 2 else position


def _read(read: Callable[[Any], _Value], kept: Any) -> _Value | None:
    """What an older document lacks is not known."""
    return None if kept is None else read(kept)
