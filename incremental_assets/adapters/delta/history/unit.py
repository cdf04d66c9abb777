"""What a task is given to follow one batch, and what it gives back: plain values, as a task has no session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from incremental_assets.adapters.delta.tasks.files.unit import Marks, Stored


@dataclass(frozen=True, slots=True)
class OwnColumns:
    """Those of a history's files beside the rows' own; the first three only where it tells when a version was valid."""

    deleted: Stored
    run_id: Stored
    seq: Stored
    at: Stored
    valid_from: Stored | None = None
    valid_to: Stored | None = None
    is_current: Stored | None = None

    @property
    def all(self) -> tuple[Stored, ...]:
        """All columns in the order in which they are written."""
        found = (self.valid_from, self.valid_to, self.is_current, self.deleted, self.run_id, self.seq, self.at)
        return tuple(each for each in found if each is not None)


@dataclass(frozen=True, slots=True)
class Batch:
    """What a history has to follow: what one commit did to a copy, or, to begin with, all of its rows.

    `files`: those that hold rows of its sequence, or some of the copy's. `told`: places of the columns that tell when a row was changed, the first that is not NULL before
    the others. `touched`: each file that holds less rows since, as it was and as it is (None: it is gone); `new`: files that came.
    Both only where rows went without one in their place. `whole`: `files` are all of the copy's, whose rows are compared with the newest version of every key. `gone`: the column in which the copy says of a row that it is gone; None where it cannot.
    """

    table: str
    columns: tuple[Stored, ...]
    seq_column: Stored
    seq: int
    files: tuple[Mapping[str, Any], ...]
    told: tuple[int, ...]
    touched: tuple[tuple[Mapping[str, Any], Mapping[str, Any] | None], ...] = ()
    new: tuple[Mapping[str, Any], ...] = ()
    whole: bool = False
    gone: Stored | None = None
    changes: Changes | None = None
    """In place of its rows in the copy, which has the last of them alone."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What a source's log has of a batch: a file with every version of its rows, and for each of the history's columns its place there; None where it has none."""

    path: str
    size: int
    places: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class HistoryUnit:
    """One batch and the files of the history. `columns`: of the rows, as its files have them, in the order of the batch's. Moments are in microseconds since 1970, UTC."""

    table: str
    batch: Batch
    columns: tuple[Stored, ...]
    own: OwnColumns
    key: tuple[int, ...]
    files: tuple[Mapping[str, Any], ...]
    statistics: tuple[str, ...]
    clock: int
    marks: Marks

    @property
    def size(self) -> int:
        """The bytes of the files that are looked at, by which units are spread over tasks."""
        changes = self.batch.changes.size if self.batch.changes else 0
        return changes + sum(int(each["size"]) for each in (*self.files, *self.batch.files))


@dataclass(frozen=True, slots=True)
class Followed:
    """Actions for the log, the names of the files that only the log makes part of the table, and what was counted."""

    actions: tuple[Mapping[str, Any], ...] = ()
    files: tuple[str, ...] = field(default=(), repr=False)
    added: int = 0
    deleted: int = 0
    ended: int = 0
    bytes: int = 0
