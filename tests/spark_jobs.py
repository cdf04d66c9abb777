"""How much a session has done."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from incremental_assets.adapters.spark.session import is_remote


def jobs(spark: SparkSession) -> int:
    """Spark jobs that this session has begun, ever."""
    if is_remote(spark):
        pytest.skip("an engine's jobs are those of all its sessions")
    count = spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()
    return int(count)


def sql_statements(spark: SparkSession) -> int:
    """Statements of SQL that Spark has begun, ever; a table that is written or read by it is one, too.

    Told by the number of the last one: Spark keeps the last thousand, so that a count of what it keeps stays as it is once there were more.
    """
    kept = spark._jsparkSession.sharedState().statusStore().executionsList()  # type: ignore[attr-defined]
    return 0 if kept.isEmpty() else int(kept.last().executionId()) + 1
