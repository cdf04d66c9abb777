"""A closed range of offsets of each partition."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.model.guarantee import Guarantee, Promise
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.reading import Reading

REASON = "every record that the topic has up to the offsets that were read, as it was delivered"
TAKEN_AGAIN = "its connector has taken a snapshot again, and of rows that were deleted in the source while it did not read the log the topic has no record, so that they may be left in the copy"


def promise_of(log: Log) -> Promise:
    """As it was delivered, and what no record tells."""
    return Promise(Guarantee.AS_DELIVERED, f"{REASON}; {TAKEN_AGAIN}" if log.is_taken_again else REASON)


@dataclass(frozen=True, slots=True)
class Range:
    """Offsets of one partition, `end` excluded."""

    partition: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """How many there are; a topic that was compacted, or written by transactions, has fewer records."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicReading(Reading):
    """What a sync reads of a topic."""

    ranges: tuple[Range, ...]
    topic: str
    """By its name."""
    id: str
    cluster: str
    at: datetime
    log: Log
    """What counts of the copy; nothing where it is replaced."""
    begins_anew: bool
    """Whether the copy is not gone on from."""

    @property
    def promise(self) -> Promise:
        """By what was known before."""
        return promise_of(self.log)

    @property
    def clock(self) -> datetime:
        """That of the look."""
        return self.at

    @property
    def behind(self) -> str:
        """The offsets at which the ranges begin, once any record was read."""
        begin = [each.begin for each in self.ranges]
        return f"the offsets {', '.join(map(str, begin))}" if any(begin) else ""


class TopicSnapshot(Protocol):
    """What a snapshot of a topic shows beside its rows."""

    @property
    def log(self) -> Log:
        """What is known of the source's log once the records have landed."""


def of_topic(plan: SyncPlan) -> TopicReading:
    """The reading of a plan that this capture has made."""
    if not isinstance(plan.reading, TopicReading):
        raise TypeError(f"{plan.spec.id} is read from a topic, and its plan has a {type(plan.reading).__name__}")
    return plan.reading


def shown_by_topic(snapshot: object) -> TopicSnapshot:
    """What a source shows that was asked for a `TopicReading`."""
    return cast(TopicSnapshot, snapshot)
