"""What a task is given to land one batch, and what it gives back: plain values, as a task has no session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.skipping import Reach


@dataclass(frozen=True, slots=True)
class Stored:
    """A column as the target's files have it: its name there, its Spark type, and its number, where Delta maps columns by one."""

    name: str
    type: str
    id: int | None = None


@dataclass(frozen=True, slots=True)
class Marks:
    """What every row of a commit carries beside the source's columns, and under which ones; `at` in microseconds since 1970, UTC.

    `gone`: the column in which the table says of a row that it is gone; None where it cannot.
    """

    run_id: str
    seq: int
    at: int
    columns: tuple[Stored, Stored, Stored]
    gone: Stored | None = None

    @property
    def stored(self) -> tuple[Stored, ...]:
        """All of its columns."""
        return self.columns if self.gone is None else (*self.columns, self.gone)


@dataclass(frozen=True, slots=True)
class Replacing:
    """Rows take the place of those with their keys.

    `key`: places of its columns. `compares`: rows that are there as they are stay untouched; `cursor`: the place of the column in which
    those that have changed most likely differ. `leaves`: keys of which the batch only says that they are gone leave the target,
    or, where `flagged_at` is given, stay and are marked as gone at that moment, as long as their row in the source is not merely one that
    cannot land.
    `whole`: rows that stay are written along, so that no file has marks.
    """

    key: tuple[int, ...]
    compares: bool
    leaves: bool = False
    whole: bool = False
    cursor: int | None = None
    flagged_at: int | None = None


@dataclass(frozen=True, slots=True)
class Adding:
    """Rows are added: with `compares` those that are not there yet.

    `version_key`: places of the key whose newest version alone counts; empty where rows are counted.
    """

    compares: bool
    version_key: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Overwriting:
    """Rows take the place of all that is there."""


@dataclass(frozen=True, slots=True)
class Staying:
    """The rows of some of the target's files, by their places, that have none of the batch's keys: an upsert that writes rows along keeps them."""

    key: tuple[int, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ApplyUnit:
    """One batch and the files of its target that it may concern, as `add` actions.

    `columns`: the source's, in its order, which is the order of the staged batch. `groups`: row groups of the batch, by their files' names, where
    the unit is a share of it; None where it is all of it. `within`: no row of the target outside of it is concerned.
    `statistics`: names in the files of the columns whose ends the log keeps. `anew`: all columns of the table, where a file of which rows are
    no more is written anew without them; empty where they are marked in it.
    """

    table: str
    staged: str
    columns: tuple[Stored, ...]
    marks: Marks
    how: Replacing | Adding | Overwriting | Staying
    files: tuple[Mapping[str, Any], ...]
    statistics: tuple[str, ...]
    within: tuple[Reach, ...] = ()
    groups: Mapping[str, tuple[int, ...]] | None = None
    anew: tuple[Stored, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of the files that are looked at, by which units are spread over tasks."""
        looked_at = [self.files[place] for place in self.how.places] if isinstance(self.how, Staying) else self.files
        return sum(int(each["size"]) for each in looked_at)


@dataclass(frozen=True, slots=True)
class CopyUnit:
    """A file, as an `add` action, of which some rows are gone and the others are written anew. `columns`: all of the table's; `statistics` as above."""

    table: str
    file: Mapping[str, Any]
    gone: BitMap64
    columns: tuple[Stored, ...]
    statistics: tuple[str, ...]

    @property
    def size(self) -> int:
        """The bytes of the file, by which units are spread over tasks."""
        return int(self.file["size"])


@dataclass(frozen=True, slots=True)
class Share:
    """What one task has done of a batch: the file that it wrote, and what it found. `gone`: rows of the target that are no more, by the place of their file among the unit's."""

    add: Mapping[str, Any] | None = None
    gone: Mapping[int, BitMap64] = field(default_factory=dict)
    written: int = 0
    """Rows of the batch."""
    kept: int = 0
    """Rows of the target that were written along."""
    flagged: int = 0
    """Rows of the target that were written again, marked as gone."""
    late: int = 0
    """The late rows among those of the batch that were written."""
    left: int = 0
    """Rows that left without one in their place."""
    unfit: int = 0
    """Those of them whose row in the source has not gone, and lies in quarantine."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Actions for the log, as JSON values, and what was counted, see `Share`. `files`: names of those that were written, which only the log makes rows of."""

    actions: tuple[Mapping[str, Any], ...] = ()
    files: tuple[str, ...] = field(default=(), repr=False)
    written: int = 0
    kept: int = 0
    flagged: int = 0
    bytes: int = 0
    late: int = 0
    marked: int = 0
    """Rows of the target that are no more as they were, those that left included."""
    left: int = 0
    unfit: int = 0
