"""A closed list of files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

from incremental_assets.core.captures.files.position import FilesPosition, Page
from incremental_assets.core.model.dropped_file import DroppedFile
from incremental_assets.core.model.guarantee import Guarantee, Promise
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.planning.reading import Reading

REASON = "every file of the list, as it was when it was listed, once"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesReading(Reading):
    """What a sync reads of a folder."""

    files: tuple[DroppedFile, ...]
    replaced: tuple[str, ...]
    """The paths of those whose rows, as they landed before, go."""
    at: datetime
    before: FilesPosition
    """What the copy has been made of; nothing where it is replaced."""
    begins_anew: bool
    """Whether the copy is not gone on from."""
    is_again: bool = False
    """Whether it reads what has landed, so that the position stays."""

    @property
    def promise(self) -> Promise:
        """A closed list lands as a whole."""
        return Promise(Guarantee.SETTLED, REASON)

    @property
    def clock(self) -> datetime:
        """That of the look."""
        return self.at

    @property
    def comes_once(self) -> bool:
        """Unless rows may be there of files that no page names."""
        return not (self.is_again or self.before.overlaps)

    @property
    def behind(self) -> str:
        """The files that have landed before."""
        return str(self.before) if self.before.pages else ""


class FilesSnapshot(Protocol):
    """What a snapshot of files shows beside its rows."""

    @property
    def pages(self) -> tuple[Page, ...]:
        """The ledger once the files have landed, on disk."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people are to know of the files."""


def of_files(plan: SyncPlan) -> FilesReading:
    """The reading of a plan that this capture has made."""
    if not isinstance(plan.reading, FilesReading):
        raise TypeError(f"{plan.spec.id} is read from files, and its plan has a {type(plan.reading).__name__}")
    return plan.reading


def shown_by_files(snapshot: object) -> FilesSnapshot:
    """What a source shows that was asked for a `FilesReading`."""
    return cast(FilesSnapshot, snapshot)
