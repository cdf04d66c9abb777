"""The place where rows are written to a lake, and what writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.spark.tasks import Tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Site:
    """A lake, tasks that write to it, and a session for what is Spark's to write."""

    session: SparkSession
    tasks: Tasks
    lake: str
