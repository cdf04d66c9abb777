"""The resumable state of one table: what every landed checkpoint and every commit in the lake carries.

One JSON document, versioned, so that a lost checkpoint table is rebuilt from the lake alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.definition import Definition
from incremental_assets.core.model.deletes import KeysCompared
from incremental_assets.core.model.position import Position
from incremental_assets.core.model.schema_change import SchemaChange
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.terms import Terms
from incremental_assets.core.model.unfilled import Unfilled

VERSION = 8
"""2: what a stricter guarantee keeps; fields that a document of version 1 lacks are read as not known. 3: the position is a value of its own.
4: a document names the capture whose position it holds. 5: the terms have a condition. 6: they have a place in the lake. 7: they have masks. 8: they have names of columns."""
_OF_MASKS, _OF_PLACES, _OF_CONDITIONS, _OF_CAPTURES, _OF_DATABASES = 7, 6, 5, 4, 3
"""Without names of its own, without masks, without a place of its own, and without a condition, a document is written as before there were any. What a database's capture leaves is written as before there were others, so that an earlier release reads it too."""


@dataclass(frozen=True, slots=True)
class State:
    """All that the next sync needs to go on from `seq`."""

    app_id: str
    seq: int
    batch_id: str
    terms: Terms
    position: Position
    identity: SourceIdentity | None = None
    clock: datetime | None = None
    """The source's clock of the last sync; None before the first, and after a reset."""
    looked: datetime | None = None
    """When a look was due that found nothing, of a table with a schedule; on the source's clock."""
    rows: int | None = None
    """Rows of the last whole read, against which a shrunken source is noticed."""
    columns: tuple[tuple[str, str], ...] = ()
    """Every column that landed, by name, and the source's identity of it (empty where it has none); see `Column.identity`."""
    absent: tuple[str, ...] = ()
    """Those of them that the source did not show when something landed last: renamed, dropped, or not granted."""
    discarded: tuple[str, ...] = ()
    """New columns of the source that are not read, and that a run has reported."""
    changed: tuple[SchemaChange, ...] = ()
    """What the landing that left this state changed of the columns."""
    compared: KeysCompared | None = None
    """When keys were last compared, where deletes are followed; None where that is due."""
    unfilled: Unfilled | None = None
    """Columns whose values rows that landed before still lack."""
    erased: bool = False
    """Whether keys were erased from the table, so that there has to be a list of them."""
    pii: tuple[str, ...] = ()
    """Columns whose values are never shown, by the names under which they landed."""
    definition: Definition | None = None
    """What the source's catalogue said of the table for which the copy was last brought up to date; None: not known."""

    def rewound(self, terms: Terms, watermark: CursorValue | None) -> State:
        """What `reset` leaves: the next sync reads from `watermark` (None: from `start`) on these terms, whichever source answers."""
        same = self.terms.same_cursor(terms)
        return replace(
            self,
            terms=terms,
            position=self.position.rewound(watermark, same_cursor=same),
            identity=None,
            clock=None,
            looked=None,
            rows=None,
            # The copy still has them, whichever columns the source has under these names now.
            columns=tuple((name, "") for name, _ in self.columns),
            # From another watermark on, rows below it still show what they showed.
            absent=self.absent if watermark is not None else (),
            compared=None,
            # What is read again brings its values along.
            unfilled=self.unfilled if same and watermark is not None else None,
            definition=self.definition if watermark is not None else None,
        )

    def moved_to_another_cluster(self) -> State:
        """The same table in another cluster, as `pg_upgrade` leaves it: whichever database answers next is the one from then on."""
        return replace(self, identity=None, position=self.position.moved(), compared=None)

    def forgotten(self, seq: int) -> State:
        """Nothing is known of what landed up to `seq`: the next sync reads from `start`, and an append looks through the whole table."""
        rewound = self.rewound(self.terms, None)
        return replace(rewound, seq=seq, batch_id="", position=self.position.forgotten(), identity=self.identity)

    @property
    def is_synced(self) -> bool:
        """Whether a sync has looked at the whole source: not before the first one, of which a backfill knows nothing, and not since a reset."""
        return self.clock is not None

    @property
    def lacking(self) -> tuple[str, ...]:
        """Columns whose values rows that landed before still lack."""
        return self.unfilled.columns if self.unfilled else ()

    @property
    def _version(self) -> int:
        if self.terms.column_names:
            return VERSION
        if self.terms.masks:
            return _OF_MASKS
        if self.terms.target:
            return _OF_PLACES
        if self.terms.where:
            return _OF_CONDITIONS
        return _OF_CAPTURES if self.position.capture else _OF_DATABASES

    def to_json(self) -> str:
        """One line of JSON, stable in its order."""
        named = self.position.capture
        document = {
            "version": self._version,
            **({"capture": named} if named else {}),
            "app_id": self.app_id,
            "seq": self.seq,
            "batch_id": self.batch_id,
            "terms": {
                "strategy": self.terms.strategy,
                "key": list(self.terms.key),
                "cursor": self.terms.cursor,
                "fallback": self.terms.fallback,
                "collation": self.terms.collation,
                **({"where": self.terms.where} if self.terms.where else {}),
                **({"target": self.terms.target} if self.terms.target else {}),
                **({"masks": self.terms.masks} if self.terms.masks else {}),
                **({"column_names": self.terms.column_names} if self.terms.column_names else {}),
            },
            "identity": self.identity and self.identity.to_json(),
            "clock": self.clock and self.clock.isoformat(),
            **({"looked": self.looked.isoformat()} if self.looked else {}),
            "rows": self.rows,
            "columns": dict(self.columns),
            "absent": list(self.absent),
            "discarded": list(self.discarded),
            "changed": [change.to_json() for change in self.changed],
            "compared": self.compared and self.compared.to_json(),
            "unfilled": self.unfilled and self.unfilled.to_json(),
            **({"erased": True} if self.erased else {}),
            **({"pii": list(self.pii)} if self.pii else {}),
            "definition": None if self.definition is None else dict(self.definition),
            **self.position.to_json(),
        }
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
