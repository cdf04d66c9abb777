"""Rows of a read by the names of the copy, where the source has others: what is said of a row that cannot land, and a frame of Spark's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.spark.own_names import RAW, READ_FLAGS, REJECT_COLUMN
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Names:
    """The copy's columns in their order, and what the source calls those of another name; a plain value, as tasks take it."""

    columns: tuple[str, ...]
    after: Mapping[str, str]

    @classmethod
    def of(cls, spec: TableSpec) -> Names:
        """Those of a table, which has its copy's names."""
        return cls(spec.shape.names, {column: name for name, column in spec.source_names})

    def __call__(self, rows: pa.Table) -> pa.Table:
        """The rows, with the copy's names in what is said of those that cannot land; their columns go by places."""
        for name, said in ((REJECT_COLUMN, self._name), (RAW, self._row)):
            column = rows.column(name)
            if column.null_count < rows.num_rows:
                texts = [None if text is None else said(text) for text in column.to_pylist()]
                rows = rows.set_column(rows.column_names.index(name), name, pa.array(texts, pa.string()))
        return rows

    def _name(self, column: str) -> str:
        return self.after.get(column, column)

    def _row(self, text: str) -> str:
        return json.dumps({self._name(column): value for column, value in json.loads(text).items()}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class NamedPart:
    """Implements `spark.read_part.ReadPart`: another one, by the copy's names."""

    part: ReadPart
    names: Names

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
        return map(self.names, self.part.batches())


def named_parts(parts: tuple[ReadPart, ...] | None, names: Names) -> tuple[ReadPart, ...] | None:
    """The parts of a read by the copy's names."""
    if parts is None or not names.after:
        return parts
    return tuple(NamedPart(part, names) for part in parts)


def named_frame(frame: DataFrame, names: Names) -> DataFrame:
    """The same of a frame, which has the source's columns by name, then the flags."""
    if not names.after:
        return frame
    from pyspark.sql import functions as sf

    known = sf.create_map(*(sf.lit(each) for pair in names.after.items() for each in pair))
    of_row = sf.transform_keys(
        sf.from_json(RAW, "map<string,string>"), lambda column, _: sf.coalesce(known[column], column)
    )
    named = frame.toDF(*names.columns, *READ_FLAGS)
    return named.withColumns(
        {
            REJECT_COLUMN: sf.coalesce(known[sf.col(REJECT_COLUMN)], sf.col(REJECT_COLUMN)),
            RAW: sf.to_json(of_row, {"ignoreNullFields": "false"}),
        }
    )
