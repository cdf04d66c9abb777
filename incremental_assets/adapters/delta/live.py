"""Rows of a copy that are not marked as gone."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from incremental_assets.adapters.spark.own_names import DELETED_AT
from incremental_assets.core.model.schema_drift import TargetColumn


def live(rows: DataFrame, there: Sequence[TargetColumn]) -> DataFrame:
    """The rows of a copy with these columns, without those that are marked."""
    return rows.where(sf.col(DELETED_AT).isNull()) if any(found.name == DELETED_AT for found in there) else rows
