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
    """Statements of SQL that Spark has begun, ever; a table that is written or read by it is one, too."""
    return int(spark._jsparkSession.sharedState().statusStore().executionsCount())  # type: ignore[attr-defined]
