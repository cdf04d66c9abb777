"""A file that somebody has dropped, as it is known, and what happens when it is another one later. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class DroppedFile:
    """One file as a look found it."""

    path: str
    """Below the folder of its source."""
    size: int
    tag: str
    """What another file under the same path would have otherwise."""


class Changed(StrEnum):
    """What happens when a file that has landed is another one since, under the same path."""

    FAIL = "fail"
    AGAIN = "again"
    """It is read again, and what landed of it before goes."""
    IGNORE = "ignore"
    """What landed of it stays."""
