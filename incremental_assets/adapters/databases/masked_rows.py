"""Masks the rows of a read before they are on any disk: in the task that reads them, or before a snapshot's file is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.mask import REDACTED, Mask, MaskKey, text_mask
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId

_REASON = "the value of this masked column cannot land"
"""In place of a reason that may quote it."""


@dataclass(frozen=True, slots=True)
class Masking:
    """What is masked of a table's rows, whose columns are known by their places: a plain value, as tasks take it."""

    table: TableId
    columns: tuple[tuple[int, str, Mask, str], ...]
    """Of each its place, its name, its mask and the Spark type of what lands."""
    key: MaskKey | None

    @classmethod
    def of(cls, spec: TableSpec) -> Masking | None:
        """None where nothing is masked."""
        masks = {each.name: each for each in spec.masks}
        found = tuple(
            (place, column.name, masks[column.name].mask, masks[column.name].lands.spark_type)
            for place, column in enumerate(spec.columns)
            if column.name in masks
        )
        return cls(spec.id, found, spec.mask_key) if found else None

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The rows with these columns masked, and their values in no text of a row that cannot land. Raises StageBroken where a column cannot be masked."""
        try:
            for place, _, mask, kind in self.columns:
                masked = self._masked(rows.column(place), mask, kind)
                rows = rows.set_column(place, pa.field(rows.column_names[place], masked.type), masked)
            return self._unquoted(rows)
        except (ValueError, pa.ArrowException):
            # Without its words, and without the cause: either may quote a value.
            raise StageBroken(
                f"{self.table}: a column could not be masked as `columns: {{mask: …}}` has it; nothing was written, please report it"
            ) from None

    def _masked(self, column: Any, mask: Mask, kind: str) -> Any:
        if mask is Mask.YEAR:
            return pc.floor_temporal(column, unit="year").cast(required_type(kind))
        if mask is Mask.REDACT:
            return pc.if_else(pc.is_valid(column), pa.scalar(REDACTED), pa.scalar(None, pa.string()))
        return _mapped(column.cast(pa.string()), text_mask(mask, self.key))

    def _unquoted(self, rows: pa.Table) -> pa.Table:
        if rows.column(RAW).null_count + rows.column(REJECT_REASON).null_count == 2 * rows.num_rows:
            return rows
        names = {name for _, name, _, _ in self.columns}
        raws = [None if text is None else _redacted(text, names) for text in rows.column(RAW).to_pylist()]
        told = zip(rows.column(REJECT_COLUMN).to_pylist(), rows.column(REJECT_REASON).to_pylist(), strict=True)
        reasons = [_REASON if why is not None and column in names else why for column, why in told]
        for name, values in ((RAW, raws), (REJECT_REASON, reasons)):
            rows = rows.set_column(rows.column_names.index(name), name, pa.array(values, pa.string()))
        return rows


@dataclass(frozen=True, slots=True)
class MaskedPart:
    """Implements `spark.read_part.ReadPart`: another one, masked as its rows come."""

    part: ReadPart
    masking: Masking

    @property
    def size(self) -> int:
        """Bytes that are expected."""
        return self.part.size

    @property
    def budget(self) -> Budget | None:
        """That of the source."""
        return self.part.budget

    def batches(self) -> Iterator[pa.Table]:
        """The rows."""
        return map(self.masking, self.part.batches())


class MaskedFile:
    """A file of Parquet that is written as `pq.ParquetWriter` does it, with its rows masked."""

    def __init__(self, path: Path, schema: pa.Schema, masking: Masking, **encoding: Any) -> None:
        lands = {place: required_type(kind) for place, _, _, kind in masking.columns}
        fields = [field.with_type(lands.get(place, field.type)) for place, field in enumerate(schema)]
        self._masking, self._schema = masking, pa.schema(fields)
        self._writer = pq.ParquetWriter(path, self._schema, **encoding)

    def write_batch(self, rows: pa.RecordBatch) -> None:
        """Some rows."""
        self.write_table(pa.Table.from_batches([rows]))

    def write_table(self, rows: pa.Table) -> None:
        """The same."""
        self._writer.write_table(self._masking(rows).cast(self._schema))

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._writer.close()


def masked_frames(masking: Masking, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For Spark's own reader, whose frames have the columns of the source by name."""
    for batch in batches:
        yield from masking(pa.Table.from_batches([batch])).combine_chunks().to_batches()


def _mapped(column: Any, of: Callable[[str], str]) -> pa.ChunkedArray:
    """Each text once, as columns repeat them."""
    encoded = pc.dictionary_encode(column)
    chunks = encoded.chunks if isinstance(encoded, pa.ChunkedArray) else [encoded]
    texts: dict[str, str] = {}
    return pa.chunked_array([_taken(chunk, texts, of) for chunk in chunks], pa.string())


def _taken(chunk: Any, texts: dict[str, str], of: Callable[[str], str]) -> pa.Array:
    masked = [texts.setdefault(text, of(text)) for text in _texts(chunk.dictionary)]
    return pa.array(masked, pa.string()).take(chunk.indices)


def _texts(dictionary: Any) -> Sequence[str]:
    return [str(text) for text in dictionary.to_pylist()]


def _redacted(text: str, names: set[str]) -> str:
    """A row that cannot land, as people read it: a JSON object of texts."""
    row = json.loads(text)
    return json.dumps(
        {name: REDACTED if name in names and value is not None else value for name, value in row.items()},
        ensure_ascii=False,
    )
