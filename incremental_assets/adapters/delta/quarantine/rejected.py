"""Rows of a staged batch that cannot land, as the texts that their quarantine keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.quarantine.texts import as_texts, texts_of
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags, StagedGroup, staged_name
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.batch import Operation

_AT_ONCE = 16 * 1024
"""Rows that are made objects of Python at once."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """Some of them, all held by a contract or none. `texts`: of their columns, the reason and the column of it."""

    rows: pa.Table
    texts: tuple[pa.ChunkedArray, ...]
    held: bool

    @property
    def late(self) -> Flags:
        """Whether a sync before should have seen each."""
        found: Flags = self.rows[LATE].fill_null(False).to_numpy()  # noqa: FBT003
        return found


def rejected(groups: Iterable[StagedGroup], names: Sequence[str], types: Sequence[str]) -> Iterator[Rejected]:
    """All of them, in the order of the batch, but that of a row group those that are held come first."""
    read = [*map(staged_name, range(len(names))), REJECT_REASON, REJECT_COLUMN, RAW, OPERATION, LATE]
    for group in groups:
        if group.lands_whole:
            continue
        rows = group.read(read, put=False)
        rows = rows.filter(pc.is_valid(rows[REJECT_REASON]))
        held = pc.equal(rows[OPERATION], Operation.HELD.value)
        for part in _parts(rows.filter(held)):
            yield Rejected(part, held_texts(part, types), held=True)
        for part in _parts(rows.filter(pc.invert(held))):
            told = texts_of(part[RAW], names)
            yield Rejected(part, (*told, part[REJECT_REASON], part[REJECT_COLUMN]), held=False)


def held_texts(rows: pa.Table, types: Sequence[str]) -> tuple[pa.ChunkedArray, ...]:
    """A row that is held has its values, and no text of the source."""
    values = (as_texts(value(rows, place, kind), kind) for place, kind in enumerate(types))
    return (*values, rows[REJECT_REASON], rows[REJECT_COLUMN])


def value(rows: pa.Table, place: int, kind: str) -> pa.ChunkedArray:
    """A column of staged rows in its own type."""
    return rows[staged_name(place)].cast(required_type(kind))


def _parts(rows: pa.Table) -> Iterator[pa.Table]:
    return (rows.slice(first, _AT_ONCE) for first in range(0, rows.num_rows, _AT_ONCE))
