"""What a task is given to land one batch, and what it gives back: plain values, as a task has no session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.core.model.batch import KeyRange


@dataclass(frozen=True, slots=True)
class LandedColumn:
    """One column: its place in the staged batch, its name and its Spark type in the target."""

    place: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Marks:
    """What every row of a commit carries beside the source's columns; `at` in microseconds since 1970, UTC."""

    run_id: str
    seq: int
    at: int


@dataclass(frozen=True, slots=True)
class Replacing:
    """Rows take the place of those with their keys. `compares`: rows that are there as they are stay untouched."""

    key: tuple[int, ...]
    within: tuple[KeyRange, ...]
    compares: bool


@dataclass(frozen=True, slots=True)
class Adding:
    """Rows are added: with `compares` those that are not there yet.

    `version_key`: the key whose newest version alone counts; empty where rows are counted. `lower`: of `cursor`, below which no row is compared.
    """

    compares: bool
    version_key: tuple[int, ...] = ()
    cursor: int | None = None
    lower: Any = None


@dataclass(frozen=True, slots=True)
class ApplyUnit:
    """One batch and the files of its target that it may concern, as `add` actions."""

    table: str
    staged: str
    columns: tuple[LandedColumn, ...]
    how: Replacing | Adding
    files: tuple[Mapping[str, Any], ...]
    marks: Marks
    statistics: tuple[str, ...]

    @property
    def size(self) -> int:
        """For the order in which units are begun: bytes of the files that are looked at."""
        return sum(int(each["size"]) for each in self.files)


@dataclass(frozen=True, slots=True)
class Applied:
    """Actions for the log, as JSON values; rows written, rows of the target marked, and late ones of those written."""

    actions: tuple[Mapping[str, Any], ...]
    written: int
    marked: int
    late: int
    bytes: int
