"""How far a table has been read from its source's log, and until when the snapshot that it was loaded from still counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.captures.log.lsn import lsn_of, lsn_text
from incremental_assets.core.model.cursor import CursorValue


@dataclass(frozen=True, slots=True)
class Join:
    """The snapshot that the copy was loaded from: a transaction of the log that it shows has landed with it."""

    visible: str
    """The transactions that it shows, in the source's own format."""
    written: int
    """Up to where the log had been written once it was taken: behind that come none of these any more."""


@dataclass(frozen=True, slots=True)
class LogPosition(DatabasePosition):
    """Implements `Position`. Empty before the first load, and after a reset."""

    capture: ClassVar[str] = "log"
    lsn: int | None = None
    """Every transaction that was committed before it has landed, or is shown by the snapshot; None: nothing was loaded."""
    number: int = 0
    """What the source numbers the table by: another number is another table."""
    server: str = ""
    """Whose log it is, and on which of its timelines; empty once another one was accepted."""
    numbered: bool = False
    """As `LogSeen` says it."""
    layout: str = ""
    """A digest of the columns that were loaded."""
    columns_written: str = ""
    """As `LogSeen` says it; empty in a position of before it did."""
    join: Join | None = None
    """None once the log has passed the snapshot."""
    behind: int | None = None
    """The position from which the last changes came here; None: all was loaded."""
    lacked: Join | None = None
    """The snapshot that counted for them."""
    goes_on: bool = False
    """Whether more had been read of the log when this landed, as it was a full batch."""
    untold: str = ""
    """What was done to partitions as a whole, as part of a sentence: the log up to here has every change that they had before, and the next sync compares all rows. Empty: nothing."""

    def __str__(self) -> str:
        return "nothing" if self.lsn is None else lsn_text(self.lsn)

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> LogPosition:
        """The whole table is loaded again: what the log had before its segments began is in none of them."""
        return LogPosition()

    def forgotten(self) -> LogPosition:
        """As after a reset."""
        return LogPosition()

    def moved(self) -> LogPosition:
        """Another server's log has other places; by the numbers of its transactions it may be gone on with all the same."""
        return replace(self, server="") if self.numbered else LogPosition()

    def to_json(self) -> dict[str, Any]:
        """Its own, and of what a database's has the partitions alone."""
        return {
            "position": {
                "lsn": _text(self.lsn),
                "number": self.number,
                "server": self.server,
                "numbered": self.numbered,
                "layout": self.layout,
                "columns_written": self.columns_written,
                "join": _document(self.join),
                "behind": _text(self.behind),
                "lacked": _document(self.lacked),
                "members": None if self.members is None else list(self.members),
                "goes_on": self.goes_on,
                "untold": self.untold,
            }
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LogPosition:
        """Read it back from a state's document."""
        own = document["position"]
        return cls(
            lsn=_lsn(own["lsn"]),
            number=own["number"],
            server=own["server"],
            numbered=own.get("numbered", False),
            layout=own["layout"],
            columns_written=own.get("columns_written", ""),
            join=_join(own["join"]),
            # An earlier release kept neither.
            behind=_lsn(own.get("behind")),
            lacked=_join(own.get("lacked")),
            members=None if own.get("members") is None else tuple(own["members"]),
            goes_on=own.get("goes_on", False),
            untold=own.get("untold", ""),
        )


def _text(lsn: int | None) -> str | None:
    return None if lsn is None else lsn_text(lsn)


def _lsn(text: str | None) -> int | None:
    return None if text is None else lsn_of(text)


def _document(join: Join | None) -> dict[str, str] | None:
    return None if join is None else {"visible": join.visible, "written": lsn_text(join.written)}


def _join(document: Mapping[str, str] | None) -> Join | None:
    return None if document is None else Join(document["visible"], lsn_of(document["written"]))


NOWHERE = LogPosition()
