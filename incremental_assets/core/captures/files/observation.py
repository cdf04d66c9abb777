"""What a look at a folder tells: the files that are there, to be compared with those that have landed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, Self

from incremental_assets.core.captures.files.position import FilesPosition
from incremental_assets.core.model.dropped_file import Changed, DroppedFile
from incremental_assets.core.model.moment import Free


@dataclass(frozen=True, slots=True)
class News:
    """What a folder has that is in no page of a position."""

    files: tuple[DroppedFile, ...] = ()
    """In the order of their paths, as many as one sync reads."""
    left: int = 0
    """How many more there are."""
    changed: tuple[DroppedFile, ...] = ()
    """Those that have landed, and are others since; as many as one sync reads."""


class Listing(Protocol):
    """The files that a look has found, which is what it is: comparing it asks the folder nothing. Raises LakeRefused where a page cannot be read."""

    @property
    def waiting(self) -> int:
        """How many may still be written, and are in none of the answers."""

    def news(self, at: FilesPosition) -> News:
        """What has come since."""

    def known(self, at: FilesPosition) -> tuple[DroppedFile, ...]:
        """Those that have landed and are as they were."""

    def everything(self) -> tuple[DroppedFile, ...]:
        """All, in the order of their paths."""


@dataclass(frozen=True, slots=True)
class FilesSeen:
    """Implements `Observation`. A sync lists anew: files may have gone since."""

    pattern: str
    """Of the paths that were looked for."""
    listing: Listing
    bound: Free
    settle: timedelta
    changed: Changed = Changed.FAIL
    suffices: bool = False
    highest: None = None

    def elsewhere(self) -> Self:
        """The list is compared when a plan is made, with the position of that."""
        return self
