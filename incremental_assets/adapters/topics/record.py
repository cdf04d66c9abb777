"""A record of a topic as its cluster hands it over, and who asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from incremental_assets.core.captures.topic.observation import TopicSeen
from incremental_assets.core.captures.topic.reading import Range


class Poison(ValueError):
    """A record that is none of its format; the text is the reason."""


class Record(NamedTuple):
    """One record: its place, when it was written (milliseconds since 1970, as its producer or the broker says), key and value."""

    partition: int
    offset: int
    at: int
    key: bytes | None
    value: bytes | None


class Broker(Protocol):
    """A cluster. Raises SourceUnreachable, SourceRefused."""

    def look(self, topics: Sequence[str]) -> tuple[TopicSeen, ...]:
        """Where each of them begins and ends; asks for no record."""

    def read(self, topic: str, ranges: Sequence[Range]) -> Iterator[Record]:
        """Every record of the ranges that is committed, those of a partition in the order of their offsets. SourceRefused where the topic no longer has the first of one."""

    def close(self) -> None:
        """Close what was opened; the next question opens it anew."""
