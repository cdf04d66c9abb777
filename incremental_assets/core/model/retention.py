"""How long what nothing needs any more stays, and which files that leaves to be removed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta

from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import byte_size, counted

DELTAS_OWN = timedelta(days=7)
"""How long Delta lets removed files stay for readers where a table says nothing else (`delta.deletedFileRetentionDuration`)."""
_UNITS = {
    "week": timedelta(weeks=1),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}
_INTERVAL = re.compile(r"(?:interval\s+)?((?:\d{1,9}\s+(?:week|day|hour|minute|second)s?\s*)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+)\s+([a-z]+?)s?(?=\s|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each stays that nothing needs any more; None: forever."""

    history: timedelta | None = None
    """Versions, since they ended."""
    quarantine: timedelta | None = None
    """Rows that wait for nothing, since then."""
    files: timedelta | None = None
    """Files of old versions of the tables."""


KEEPS_ALL = Retention()


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file where a table lies, by its name below it, and when it was last written, by the clock of that place."""

    name: str
    bytes: int
    at: datetime


@dataclass(frozen=True, slots=True)
class OldFiles:
    """Files of a table that no version needs from `version` on, which was the current one at `since`, and none at all up to then. `left`: why none is removed, as half a sentence.

    `begun`: when that version was committed; None where it is the last one, to which nothing can be taken back.
    """

    place: str
    since: datetime | None = None
    version: int = 0
    begun: datetime | None = None
    files: tuple[StoredFile, ...] = ()
    left: str = ""

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed of a copy and of what lies beside it. `left`: a sentence for each part of which nothing could be."""

    table: TableId
    files: int = 0
    bytes: int = 0
    versions: int = 0
    """Of the history's rows."""
    quarantined: int = 0
    """Rows of the quarantine."""
    seconds: float = 0.0
    left: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What it came to."""
        rows = [counted(self.versions, "version of the history", "versions of the history")] if self.versions else []
        rows += [counted(self.quarantined, "row in quarantine", "rows in quarantine")] if self.quarantined else []
        parts = ", ".join((*rows, counted(self.files, "file of old versions", "files of old versions")))
        return f"{parts} removed ({byte_size(self.bytes)})"


@dataclass(frozen=True, slots=True)
class NotPruned:
    """A copy of which nothing was removed, and why; nothing is wrong with it."""

    table: TableId
    error: str
    is_busy: bool = False
    """Whether another run holds the table, or a person has paused it."""


def interval(text: str) -> timedelta | None:
    """What Delta's property says, such as `interval 2 weeks`; None for a text that is not understood here."""
    found = _INTERVAL.fullmatch(text.strip())
    if found is None:
        return None
    return sum((int(number) * _UNITS[unit.lower()] for number, unit in _PART.findall(found[1])), timedelta())


def kept_for(files: timedelta, readers: timedelta) -> timedelta:
    """How long the files of old versions stay: as configured, but never shorter than the table promises its readers."""
    return max(files, readers)


def current_at(versions: Mapping[int, datetime], moment: datetime) -> int:
    """The version that was current then, by when each was committed; the oldest that is there where all came later.

    Times need not ascend, as where files were copied: nothing that came behind a later one counts as older than it.
    """
    current, *later = sorted(versions)
    if versions[current] > moment:
        return current
    for version in later:
        if versions[version] > moment:
            break
        current = version
    return current


def unneeded(files: Iterable[StoredFile], needed: AbstractSet[str], since: datetime) -> tuple[StoredFile, ...]:
    """Files that nobody needs and that were there by then: one that is younger may be of a writer that has not committed it yet."""
    return tuple(file for file in files if file.at <= since and file.name not in needed)
