"""Rows of files as tables that land: of small files those of many together, as each column that is made costs as much as a thousand of its values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from incremental_assets.adapters.files.fitting import fitted_rows
from incremental_assets.adapters.files.landing_rows import landing
from incremental_assets.adapters.files.raw import Rows, Unfitted
from incremental_assets.adapters.files.typed_values import of_typed
from incremental_assets.core.model.file_columns import NAMES
from incremental_assets.core.model.table import TableSpec

_ROWS, _BYTES = 64 * 1024, 8 * 2**20
"""What is put together, at the most."""


def gathered(spec: TableSpec, pieces: Iterable[tuple[str, Rows | Unfitted]]) -> Iterator[pa.Table]:
    """The rows of all pieces, each of which comes with the path of its file, in their order; none is empty."""
    held = _Held(spec)
    for path, piece in pieces:
        if isinstance(piece, Rows):
            yield from held.taken()
            if count := len(piece.numbers):
                yield landing(spec, pa.repeat(pa.scalar(path, pa.string()), count), piece)
            continue
        if not held.has_room(piece.batch):
            yield from held.taken()
        held.add(path, piece)
    yield from held.taken()


class _Held:
    """Pieces with the same columns."""

    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._types = {each.name: each.spark_type for each in spec.columns if each.name not in NAMES}
        self._pieces: list[tuple[str, Unfitted]] = []
        self._rows = self._bytes = 0

    def has_room(self, batch: pa.RecordBatch) -> bool:
        if not self._pieces:
            return True
        _, first = self._pieces[0]
        fits = self._rows + batch.num_rows <= _ROWS and self._bytes + batch.nbytes <= _BYTES
        return fits and bool(first.batch.schema.equals(batch.schema))

    def add(self, path: str, piece: Unfitted) -> None:
        if piece.batch.num_rows:
            self._pieces.append((path, piece))
            self._rows += piece.batch.num_rows
            self._bytes += piece.batch.nbytes

    def taken(self) -> Iterator[pa.Table]:
        if not self._pieces:
            return
        pieces, self._pieces, self._rows, self._bytes = self._pieces, [], 0, 0
        batch, counts = _as_one([piece.batch for _, piece in pieces]), [piece.batch.num_rows for _, piece in pieces]
        numbers = [np.arange(piece.first, piece.first + piece.batch.num_rows) for _, piece in pieces]
        paths = pa.array([path for path, _ in pieces], pa.string()).take(
            pa.array(np.repeat(range(len(pieces)), counts))
        )
        yield landing(self._spec, paths, fitted_rows(batch, _numbers(numbers), self._types, of_typed))


def _as_one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches() if len(batches) > 1 else batches
    return batch


def _numbers(numbers: list[Any]) -> pa.Array:
    return pa.array(np.concatenate(numbers), pa.int64())
