"""Rows are compared as the source would compare them, however wide they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as sf

from incremental_assets.adapters.spark.expressions import alike, column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def _rows(spark: SparkSession, wide: int, last: str, zero: float = 0.0) -> DataFrame:
    """Five rows of NULLs and texts in turn; `last` is SQL, and `zero` is the number in row 2."""
    # Not as literals: Spark takes -0.0 and 0.0 for the same literal, and folds a CASE of the two.
    numbers = spark.createDataFrame([(0, 0.0), (1, 0.0), (2, zero), (3, 0.0), (4, float("nan"))], "id bigint, f double")
    usual = [f"CAST(NULL AS string) AS c{n}" if n % 2 else f"'v{n}' AS c{n}" for n in range(wide)]
    return numbers.selectExpr("id", "f", *usual, f"{last} AS last")


@pytest.mark.acceptance
@pytest.mark.parametrize("wide", [10, 900], ids=["narrow", "wider than Catalyst can descend"])
def test_rows_are_equal_when_every_column_is(spark: SparkSession, wide: int) -> None:
    ours = _rows(spark, wide, "CASE id WHEN 3 THEN 'now' END")
    theirs = _rows(spark, wide, "CASE id WHEN 1 THEN 'now' END", -0.0)
    pairs = [(column(name, "b"), column(name, "t"), kind) for name, kind in ours.dtypes]
    left = ours.alias("b").join(theirs.alias("t"), on=alike(pairs), how="left_anti")
    assert sorted(row[0] for row in left.select("id").collect()) == [1, 2, 3]


def test_a_column_that_the_other_side_lacks_equals_null(spark: SparkSession) -> None:
    ours = _rows(spark, 2, "CASE id WHEN 1 THEN 'now' END")
    theirs = _rows(spark, 2, "'gone'").drop("last").alias("t")
    pairs = [
        (column(name, "b"), column(name, "t") if name != "last" else sf.lit(None).cast(kind), kind)
        for name, kind in ours.dtypes
    ]
    left = ours.alias("b").join(theirs, on=alike(pairs), how="left_anti")
    assert [row[0] for row in left.select("id").collect()] == [1]
