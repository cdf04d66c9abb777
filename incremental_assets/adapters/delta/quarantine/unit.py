"""What a task is given to write to a quarantine, and what it gives back: plain values, as a task has no session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from incremental_assets.adapters.delta.tasks.files.unit import Marks, Stored
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class CopyKeys:
    """The columns of a copy's files that hold its keys. `gone`: the column in which it marks rows as gone."""

    table: str
    columns: tuple[Stored, ...]
    files: tuple[Mapping[str, Any], ...]
    gone: Stored | None


@dataclass(frozen=True, slots=True)
class KeepUnit:
    """One batch some of whose rows cannot land, and the quarantine that takes them.

    `names`, `types`: of the source's columns; `key`: places of those of its key. `columns`: the quarantine's, in the order in which they are written; the
    first of them, `texts` in number, are those that make a row what it is, and by those at the places of `telling` it is distinguished from most others. `held`: whether it says which rows a contract holds; `told`: whether it
    says more of them. `copy`: where older versions of the rows that are held are looked for; None where there can be none.
    """

    table: str
    staged: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[int, ...]
    columns: tuple[Stored, ...]
    texts: int
    telling: tuple[int, ...]
    held: bool
    told: bool
    marks: Marks
    statistics: tuple[str, ...]
    files: tuple[Mapping[str, Any], ...]
    resolved_at: Stored | None
    copy: CopyKeys | None

    @property
    def size(self) -> int:
        """The bytes of the files that are looked at, by which units are spread over tasks."""
        copied = self.copy.files if self.copy else ()
        return sum(int(each["size"]) for each in (*self.files, *copied))


@dataclass(frozen=True, slots=True)
class Kept:
    """The `add` action of the rows that were not there yet, None where all were; and how many of them a sync before should have seen."""

    add: Mapping[str, Any] | None
    rows: int
    late: int = 0


@dataclass(frozen=True, slots=True)
class Came:
    """What landed with a staged batch: rows of a table, all of them if it `overwrites`, and what that makes of those that were held."""

    spec: TableSpec
    staged: str
    overwrites: bool
    seq: int
    resolves: Resolution = Resolution.SUPERSEDED


@dataclass(frozen=True, slots=True)
class Arrived:
    """The same for a task. `names`, `types`: of the source's columns; `key`: places of the key's columns, and `columns` those of the quarantine; neither of a batch that is all of its table.

    `texts`: the quarantine's columns that make a row what it is, as the table has them now; None of one that has not come there yet.
    """

    staged: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[int, ...]
    columns: tuple[Stored, ...]
    texts: tuple[Stored | None, ...]
    overwrites: bool
    resolves: str


KeyTexts = tuple[str, ...]
"""A key as the quarantine has it: a text for each of its columns."""


@dataclass(frozen=True, slots=True)
class Vanished:
    """Keys that the source has no more, and the columns of the quarantine that have them."""

    columns: tuple[Stored, ...]
    keys: tuple[KeyTexts, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class SettleUnit:
    """Rows of a quarantine that wait for nothing more: those that a batch has overtaken, or those of keys that are gone.

    `columns`: all of the table's; `held`: None where no contract ever held a row; `at`: since when, in microseconds since 1970, UTC.
    """

    table: str
    files: tuple[Mapping[str, Any], ...]
    columns: tuple[Stored, ...]
    held: Stored | None
    resolved_at: Stored
    resolution: Stored
    statistics: tuple[str, ...]
    at: int
    of: Arrived | Vanished

    @property
    def size(self) -> int:
        """The bytes of its files, by which units are spread over tasks."""
        return sum(int(each["size"]) for each in self.files)


@dataclass(frozen=True, slots=True)
class Settled:
    """Actions for the log, the names of the files that only the log makes part of the table, and how many rows they resolve."""

    actions: tuple[Mapping[str, Any], ...] = ()
    files: tuple[str, ...] = field(default=(), repr=False)
    rows: int = 0


@dataclass(frozen=True, slots=True)
class HeldUnit:
    """Some files of a quarantine, and of which columns, all of them texts, it is asked what rows have that are held now."""

    table: str
    files: tuple[Mapping[str, Any], ...]
    columns: tuple[Stored, ...]
    held: Stored
    resolved_at: Stored

    @property
    def size(self) -> int:
        """The bytes of its files, by which units are spread over tasks."""
        return sum(int(each["size"]) for each in self.files)
