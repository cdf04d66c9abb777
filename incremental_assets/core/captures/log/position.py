"""How far a table has been read from its source's log, and until when the snapshot that it was loaded from still counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    """Whose log it is, and on which of its timelines."""
    layout: str = ""
    """A digest of the columns that were loaded."""
    columns_written: str = ""
    """As `LogSeen` says it; empty in a position of before it did."""
    join: Join | None = None
    """None once the log has passed the snapshot."""

    def __str__(self) -> str:
        return "nothing" if self.lsn is None else lsn_text(self.lsn)

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> LogPosition:
        """The whole table is loaded again: what the log had before its segments began is in none of them."""
        return LogPosition()

    def forgotten(self) -> LogPosition:
        """As after a reset."""
        return LogPosition()

    def moved(self) -> LogPosition:
        """Another cluster's log has other places."""
        return LogPosition()

    def to_json(self) -> dict[str, Any]:
        """Its own alone, of which nothing is a database's."""
        join = None if self.join is None else {"visible": self.join.visible, "written": lsn_text(self.join.written)}
        lsn = None if self.lsn is None else lsn_text(self.lsn)
        return {
            "position": {
                "lsn": lsn,
                "number": self.number,
                "server": self.server,
                "layout": self.layout,
                "columns_written": self.columns_written,
                "join": join,
            }
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> LogPosition:
        """Read it back from a state's document."""
        own = document["position"]
        join = own["join"] and Join(own["join"]["visible"], lsn_of(own["join"]["written"]))
        return cls(
            lsn=None if own["lsn"] is None else lsn_of(own["lsn"]),
            number=own["number"],
            server=own["server"],
            layout=own["layout"],
            columns_written=own.get("columns_written", ""),
            join=join,
        )


NOWHERE = LogPosition()
