"""What one landing costs Spark: jobs and commits are counted, so that they cannot creep up unseen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.batches import Desk, table
from tests.spark_jobs import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, note string, at bigint"
ORDERS = table(COLUMNS)
EVENTS = table(COLUMNS, Strategy.APPEND)
COUNTRIES = table(COLUMNS, Strategy.FULL_REFRESH, cursor="")
SHAPES = (("int",), ("date", "double"), ("string", "int", "boolean"), ("double", "date", "int", "string"))
"""Of the columns that tables have besides."""


@pytest.mark.parametrize(
    ("spec", "first", "most"),
    [
        pytest.param(ORDERS, 1000, 11, id="upsert, nothing can be there already"),
        pytest.param(ORDERS, 5, 15, id="upsert, some may be"),
        pytest.param(EVENTS, 1000, 5, id="append, nothing can be there already"),
        pytest.param(EVENTS, 5, 9, id="append, some may be"),
        pytest.param(COUNTRIES, 0, 6, id="full_refresh"),
    ],
)
def test_a_landing_takes_no_more_jobs_than_it_took(
    spark: SparkSession, tmp_path: Path, spec: TableSpec, first: int, most: int
) -> None:
    """Staging included; a job is one `submit` of Spark's scheduler, and an adaptive query takes one for each of its stages."""
    desk = Desk(tmp_path / "lake", spark)
    desk.land(spec, [(number, "a", number) for number in range(1, 101)])
    desk.land(spec, [(number, "b", 100 + number) for number in range(1, 11)])
    before, log = jobs(spark), Path(desk.path(spec)) / "_delta_log"
    commits = len(list(log.glob("*.json")))
    desk.land(spec, [(number, "c", first + 100 + number) for number in range(1, 11)])
    taken = jobs(spark) - before
    assert len(list(log.glob("*.json"))) == commits + 1
    assert taken <= most


def compiled(spark: SparkSession) -> int:
    """Classes that this JVM has generated and compiled, ever."""
    jvm: Any = spark.sparkContext._jvm
    return int(jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME().getCount())


@pytest.mark.acceptance
def test_tables_of_several_shapes_leave_each_other_the_classes_that_spark_has_compiled(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each shape has some thirty; what a tick compiles anew has its own literals in it, such as its sequence and its time."""
    desks = [Desk(tmp_path / str(number), spark) for number in range(len(SHAPES))]

    def tick(number: int, rows: int) -> int:
        before = compiled(spark)
        for desk, kinds in zip(desks, SHAPES, strict=True):
            spec = table(", ".join([COLUMNS, *(f"more{place} {kind}" for place, kind in enumerate(kinds))]))
            desk.land(spec, [(row, "a", 1000 * number + row, *(None for _ in kinds)) for row in range(rows)])
        return compiled(spark) - before

    tick(0, rows=100)
    tick(1, rows=10)
    assert tick(2, rows=10) <= 5 * len(SHAPES)
