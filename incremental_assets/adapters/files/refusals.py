"""Why a file of a list cannot land, for people: the same words wherever the files are."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.cures import sync
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.table_id import TableId


class Broken(ValueError):
    """A file that is none of its format; the text says why."""


@dataclass(frozen=True, slots=True)
class Refusals:
    """The errors of one table."""

    table: TableId

    def gone(self, file: DroppedFile) -> SourceRefused:
        """It was listed, and is not there."""
        return SourceRefused(
            f"{self.table}: the file {file.path!r} was listed, and has gone before it was read, so that nothing of this list has landed; run {sync(self.table)} again, which goes on without it, "
            "and have files stay until they have landed"
        )

    def another(self, file: DroppedFile) -> SourceRefused:
        """It is not the one that was listed."""
        return SourceRefused(
            f"{self.table}: the file {file.path!r} was written while it was read, so that nothing of this list has landed; run {sync(self.table)} again once it is complete, "
            "and write a longer `settle`, or have files renamed into the folder when they are complete"
        )

    def unreadable(self, file: DroppedFile, why: str) -> SourceRefused:
        """Nobody lets us read it."""
        return SourceRefused(
            f"{self.table}: the file {file.path!r} cannot be read ({why}); give this user access, or have it sent again"
        )

    def broken(self, file: DroppedFile, why: object) -> SourceRefused:
        """It is none of its format."""
        return SourceRefused(
            f"{self.table}: the file {file.path!r} is broken ({why}), so that nothing of this list has landed; have it sent again, or moved to where `path` does not find it"
        )
