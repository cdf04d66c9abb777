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
