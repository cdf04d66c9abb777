"""Rows of a file on their way: values of the table's types, and of each row that cannot land why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row cannot land: the column that it is about, or None, the reason, and what of the row is known, as texts."""

    column: str | None
    reason: str
    row: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of one file."""

    numbers: Sequence[int] | pa.Array
    """From 1."""
    columns: Mapping[str, pa.Array | pa.ChunkedArray]
    """By the table's names, without those that the file does not have."""
    faults: Mapping[int, Fault] = field(default_factory=dict)
    """By the place in `numbers`."""

    @property
    def size(self) -> int:
        """In bytes, about."""
        return sum(each.nbytes for each in self.columns.values())


@dataclass(frozen=True, slots=True)
class Unfitted:
    """Some rows of one file in the types that it has: they become the table's together with those of the next files."""

    first: int
    """The number of the first one."""
    batch: pa.RecordBatch

    @property
    def size(self) -> int:
        """In bytes."""
        return int(self.batch.nbytes)


def text_of(value: Any) -> str | None:
    """A value for people."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return None if value is None else str(value)
