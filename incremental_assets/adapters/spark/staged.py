"""The layout of a staged batch on disk: columns by position, so that no name can clash, the four flags of the read, and each row's operation."""

from __future__ import annotations

from typing import cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from incremental_assets.adapters.spark.manifest import has_manifest, staged_files
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, RAW, READ_FLAGS, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.table import TableSpec

FLAGS = READ_FLAGS
"""The flags of a read."""
STAGED = (*FLAGS, OPERATION)
"""The flags of a staged batch."""


def positions(spec: TableSpec) -> tuple[str, ...]:
    """Names on disk of the source's columns, in its order."""
    return tuple(f"c{place}" for place in range(len(spec.columns)))


def staged_schema(spec: TableSpec) -> StructType:
    """The schema on disk."""
    columns = [f"{name} {column.spark_type}" for name, column in zip(positions(spec), spec.columns, strict=True)]
    flags = [
        f"{REJECT_COLUMN} string",
        f"{REJECT_REASON} string",
        f"{RAW} string",
        f"{LATE} boolean",
        f"{OPERATION} string",
    ]
    return cast(StructType, StructType.fromDDL(", ".join([*columns, *flags])))


def read_staged(session: SparkSession, path: str, spec: TableSpec) -> DataFrame:
    """A staged batch under the source's own names, and the flags; by the names of its files, so that one that is gone is missed. Raises StageBroken."""
    reader = session.read.schema(staged_schema(spec))
    names = [f"{path}/{each.name}" for each in staged_files(path)] if has_manifest(path) else [path]
    staged = reader.parquet(*names) if names else session.createDataFrame([], staged_schema(spec))
    return staged.toDF(*spec.shape.names, *STAGED)
