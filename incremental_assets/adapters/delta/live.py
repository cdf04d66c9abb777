"""Rows of a copy that are not marked as gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from incremental_assets.adapters.spark.own_names import DELETED_AT
from incremental_assets.core.model.schema_drift import TargetColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def marks_deletes(there: Sequence[TargetColumn]) -> bool:
    """Whether a copy with these columns can say of a row that it is gone."""
    return any(found.name == DELETED_AT for found in there)


def live(rows: DataFrame, there: Sequence[TargetColumn]) -> DataFrame:
    """The rows of a copy with these columns, without those that are marked."""
    return rows.where(f"{DELETED_AT} IS NULL") if marks_deletes(there) else rows
