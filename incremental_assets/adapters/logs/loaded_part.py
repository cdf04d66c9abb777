"""Rows of a load as those of a copy that keeps every change: read under a snapshot, and with the place in the log from which their changes follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_AT, COMMIT_LSN, OP, Op
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the log had been read to before the snapshot, and the source's clock."""

    position: int
    clock: datetime

    def of(self, name: str) -> Any:
        """What each row has in a column: any change of it has a later place."""
        return {OP: Op.LOADED.value, COMMIT_LSN: self.position, CHANGE_NUMBER: 0, COMMIT_AT: self.clock}[name]


@dataclass(frozen=True, slots=True)
class LoadedPart:
    """Implements `spark.read_part.ReadPart` around a part that has the source's columns."""

    part: ReadPart
    values: tuple[pa.Scalar, ...]
    place: int
    """How many columns the source has."""

    @property
    def size(self) -> int:
        """That of the part."""
        return self.part.size

    @property
    def budget(self) -> Budget | None:
        """That of the part."""
        return self.part.budget

    def batches(self) -> Iterator[pa.Table]:
        """The rows, some thousands at a time."""
        for rows in self.part.batches():
            for place, value in enumerate(self.values, self.place):
                rows = rows.add_column(place, f"c{place}", pa.repeat(value, len(rows)))  # noqa: PLW2901 (one by one)
            yield rows


def loaded_parts(parts: tuple[ReadPart, ...] | None, spec: TableSpec, origin: Origin) -> tuple[ReadPart, ...] | None:
    """The same rows as those of such a copy."""
    own = [column for column in spec.columns if column.of_log]
    if parts is None or not own:
        return parts
    values = tuple(pa.scalar(origin.of(each.name), required_type(each.spark_type)) for each in own)
    return tuple(LoadedPart(part, values, len(spec.columns) - len(own)) for part in parts)


def loaded_frame(frame: DataFrame, spec: TableSpec, origin: Origin) -> DataFrame:
    """The same of a frame."""
    # Where there is a frame there is Spark.
    from pyspark.sql import functions as sf

    own = [column for column in spec.columns if column.of_log]
    return frame.withColumns({each.name: sf.lit(origin.of(each.name)).cast(each.spark_type) for each in own})
