"""What one landing costs Spark: jobs and commits are counted, so that they cannot creep up unseen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.core.table import Strategy, TableSpec
from tests.conformance.test_idle import jobs
from tests.engine.batches import Desk, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

COLUMNS = "id bigint, note string, at bigint"
ORDERS = table(COLUMNS)
EVENTS = table(COLUMNS, Strategy.APPEND)
COUNTRIES = table(COLUMNS, Strategy.FULL_REFRESH, cursor="")


@pytest.mark.parametrize(
    ("spec", "first", "most"),
    [
        pytest.param(ORDERS, 1000, 11, id="upsert, nothing can be there already"),
        pytest.param(ORDERS, 5, 15, id="upsert, some may be"),
        pytest.param(EVENTS, 1000, 5, id="append, nothing can be there already"),
        pytest.param(EVENTS, 5, 8, id="append, some may be"),
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
