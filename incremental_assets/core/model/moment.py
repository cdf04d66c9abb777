"""A source at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


class Moment(Protocol):
    """The source's clock, and what holds back what can be read of it by then."""

    @property
    def clock(self) -> datetime:
        """The source's clock."""

    @property
    def since(self) -> datetime | None:
        """Since when something is held back; None where nothing is."""

    @property
    def holder(self) -> str:
        """Who holds it back, for people; empty where nobody does."""

    @property
    def prepared(self) -> str | None:
        """A prepared transaction that does, for people."""


@dataclass(frozen=True, slots=True)
class Free:
    """Of a source in which nothing is ever held back."""

    clock: datetime
    since: None = None
    holder: str = ""
    prepared: None = None
