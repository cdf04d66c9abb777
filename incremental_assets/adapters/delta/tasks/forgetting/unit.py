"""What a task is given to write a file without its old rows, and what it gives back: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.tasks.files.unit import Stored


@dataclass(frozen=True, slots=True)
class Closed:
    """Rows that have ended, by the column that says when; `gone` and `begins`: and those that say that their row is gone since then, and have not ended."""

    ends: Stored
    gone: Stored | None = None
    begins: Stored | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """Rows of a quarantine that no contract holds and whose whole key is none of those that wait: their row has landed since. `waiting`: the values of each column of the key."""

    key: tuple[Stored, ...]
    waiting: tuple[tuple[str, ...], ...]
    held: Stored | None = None


@dataclass(frozen=True, slots=True)
class Old:
    """Which rows go: what was so before a moment, in microseconds since 1970. `since`: the column that says from when a row is, by which those go that are only marked as gone."""

    before: int
    since: Stored
    closed: Closed | None
    landed: Landed | None = None


@dataclass(frozen=True, slots=True)
class ForgetUnit:
    """One file of a table, as its `add` action. `columns`: all of the table's; `statistics`: names in the files of those whose ends the log keeps."""

    table: str
    file: Mapping[str, Any]
    columns: tuple[Stored, ...]
    statistics: tuple[str, ...]
    old: Old

    @property
    def size(self) -> int:
        """The bytes of its file, by which units are spread over tasks."""
        return int(self.file["size"])


@dataclass(frozen=True, slots=True)
class Forgotten:
    """How many rows go, and the file without them, None where none is left. `changed`: whether it is another one, also where rows go that were only marked."""

    rows: int = 0
    add: Mapping[str, Any] | None = None
    changed: bool = False
