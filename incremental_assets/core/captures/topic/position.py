"""How far a table has been read from its topic, and what is needed to tell a record that comes again from one that is new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.position import Position


@dataclass(frozen=True, slots=True)
class Log:
    """What the records have told of the log of the source that they come from; nothing where they tell of none."""

    server: str = ""
    """Whose log it is, where records name their server."""
    highest: int = 0
    """The highest place of any change that was read."""
    latest: int = 0
    """The latest time of one, in microseconds."""
    emptied: int = 0
    """The place at which the table was truncated last: changes before it are of rows that are gone."""
    deletes: tuple[tuple[int, int, int], ...] = ()
    """Of partitions that were read up to a delete: their number, its offset and its place, which is that of a tombstone behind it, too."""

    has_changes: bool = False
    """Whether any record told of a change, and not of a row as a snapshot has read it."""
    snapshot: int = 0
    """The place of the snapshot from which the copy begins; 0 where no row of one was read."""
    is_taken_again: bool = False
    """Whether another snapshot came behind it: of rows that were deleted while the connector was not reading the log there is no record."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Log:
        """Read it back from a position's document."""
        deletes = ((number, offset, place) for number, offset, place in document.get("deletes", ()))
        return cls(**{"has_changes": True, **document, "deletes": tuple(deletes)})


@dataclass(frozen=True, slots=True)
class TopicPosition(Position):
    """Implements `Position`. Empty before the first load, and after a reset."""

    capture: ClassVar[str] = "topic"
    next: tuple[int, ...] = ()
    """The offset of each partition that is read next."""
    topic: str = ""
    """What the cluster numbers the topic by: another number is another topic of the same name."""
    cluster: str = ""
    log: Log = Log()
    reached: tuple[int, ...] = ()
    """After a reset: the offsets up to which the copy has been read, so that a gap behind them is found. Empty once it is read on."""

    def __str__(self) -> str:
        return f"the offsets {', '.join(map(str, self.next))}" if self.next else "the beginning of the topic"

    def rewound(self, watermark: CursorValue | None, *, same_cursor: bool) -> TopicPosition:
        """The topic is read from its beginning; what the copy has of it still counts."""
        return replace(self, next=(), reached=self.next or self.reached)

    def forgotten(self) -> TopicPosition:
        """From the beginning, into whatever there is."""
        return TopicPosition()

    def to_json(self) -> dict[str, Any]:
        """Numbers, and what they are numbers of."""
        own = {"next": self.next, "topic": self.topic, "cluster": self.cluster, "log": asdict(self.log)}
        return {"position": own | {"reached": self.reached}}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> TopicPosition:
        """Read it back from a state's document."""
        own = document["position"]
        return cls(
            tuple(own["next"]), own["topic"], own["cluster"], Log.from_json(own["log"]), tuple(own.get("reached", ()))
        )
