"""Spark's JDBC reader: runs a query, split into parts, and casts the result to the agreed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_shape import TableShape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

PART_BYTES = 16 * 2**20
"""What one connection reads in about half a second: below it a second one costs more than it brings."""
SCAN_SHARE = 0.2
"""From this share of a table on, reading by ranges of blocks beats one reader that follows an index."""

UNKNOWN_WIDTH = 200
"""Bytes of a row where the source has not counted its rows yet."""


@dataclass(frozen=True, slots=True)
class Transport:
    """How one column travels. `select` is SQL of the source giving `alias`; `spark` is Spark SQL over `alias` giving the column."""

    name: str
    alias: str
    select: str
    spark: str


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """One read: a complete SELECT with the transports and the four flag columns, and predicates on its output that split it.

    `parts` is empty when one connection reads it all; otherwise the predicates are disjoint and cover every row.
    """

    sql: str
    transports: tuple[Transport, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Jdbc:
    """Where Spark's connections lead, and their settings."""

    url: str
    properties: Mapping[str, str]

    def read(self, session: SparkSession, sql: str, parts: Sequence[str] = ()) -> DataFrame:
        """The rows of a query, one connection for each part."""
        relation, properties = f"({sql}) AS q", dict(self.properties)
        if parts:
            return session.read.jdbc(self.url, relation, predicates=list(parts), properties=properties)
        return session.read.jdbc(self.url, relation, properties=properties)


def arrived(read: DataFrame, transports: Iterable[Transport]) -> DataFrame:
    """One select states the whole schema. Empty metadata: Spark keeps a char's length there, which must not reach a Delta schema."""
    from pyspark.sql import functions as sf

    from incremental_assets.adapters.spark.staged import FLAGS

    columns = [sf.expr(travelled.spark).alias(travelled.name, metadata={}) for travelled in transports]
    return read.select(*columns, *(sf.col(name).alias(name, metadata={}) for name in FLAGS))


def masked(frame: DataFrame, spec: TableSpec) -> DataFrame:
    """The frame with what lands in the place of masked columns, by Spark's workers: nothing of it is written before."""
    from incremental_assets.adapters.databases.masked_rows import Masking

    masking = Masking.of(spec)
    if masking is None:
        return frame
    from pyspark.sql.types import StructField, StructType

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        # Inside of it nothing of this module is named: what a worker cannot import, it is sent.
        from incremental_assets.adapters.databases.masked_rows import masked_frames

        return masked_frames(masking, batches)

    fields, flags = list(frame.schema.fields), len(frame.schema.fields) - len(spec.columns)
    lands = [StructField(name, _type(kind)) for name, kind in zip(spec.shape.names, spec.landed_types, strict=True)]
    return frame.mapInArrow(work, StructType([*lands, *fields[-flags:]]))


def _type(kind: str) -> DataType:
    from pyspark.sql.types import DataType

    return DataType.fromDDL(kind)


def bytes_of(shape: TableShape, rows: int) -> int:
    """What so many rows of a table weigh in the source, by its own counts."""
    width = shape.bytes / shape.rows if shape.rows > 0 else UNKNOWN_WIDTH
    return round(min(shape.bytes, rows * width))


def parts_for(shape: TableShape, rows: int, connections: int) -> int:
    """How many connections read at once: by the bytes to come, and only where much of the table is asked for."""
    expected = bytes_of(shape, rows)
    if not shape.splits or expected < shape.bytes * SCAN_SHARE:
        return 1
    return max(1, min(connections, round(expected / PART_BYTES)))
