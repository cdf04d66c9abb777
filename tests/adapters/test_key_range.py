"""A batch says between which keys it lies, so that of a large target only what can hold them is looked at, and nothing is missed for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from incremental_assets.adapters.delta.commit import matching
from incremental_assets.adapters.delta.tasks import write as by_tasks
from incremental_assets.adapters.spark.own_names import BATCH, TARGET
from incremental_assets.core.model.batch import Batch, KeyRange
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.adapters.batches import Desk, Row, table
from tests.left_to_spark import left_to_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, note string, at bigint"
ORDERS = table(COLUMNS)
LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "lake", spark)


def staged(desk: Desk, spec: TableSpec, rows: list[Row]) -> Batch:
    return desk.stage.write(desk.plan(spec), desk.show(spec, rows))


def test_only_whole_numbers_can_be_told_by_the_statistics_of_a_file() -> None:
    equal = f"{TARGET}.`the id` <=> {BATCH}.`the id` AND {TARGET}.`day` <=> {BATCH}.`day`"
    assert matching(("the id", "day"), ()) == equal
    among = matching(("the id", "day"), (KeyRange("the id", -5, 7),))
    assert among == f"{equal} AND {TARGET}.`the id` >= -5 AND {TARGET}.`the id` <= 7"


@pytest.mark.acceptance
def test_a_batch_says_between_which_keys_its_rows_lie(desk: Desk) -> None:
    assert staged(desk, ORDERS, [(5, "a", 1), (LEAST, "b", 2), (MOST, "c", 3)]).keys == (KeyRange("id", LEAST, MOST),)
    of_two = table("shop int, code string, no smallint, at bigint", key=("shop", "code", "no"))
    rows: list[Row] = [(2, "b", -3, 1), (9, "a", 4, 2), (1000, None, 1000, 3)]
    assert staged(desk, of_two, rows).keys == (KeyRange("shop", 2, 9), KeyRange("no", -3, 4)), (
        "without what is rejected"
    )
    assert staged(desk, table("code string, at bigint", key=("code",)), [("a", 1)]).keys == ()
    assert staged(desk, table(COLUMNS, Strategy.APPEND), [(5, "a", 1)]).keys == ()
    assert staged(desk, ORDERS, []).keys == ()


@pytest.mark.acceptance
def test_rows_at_both_ends_of_what_a_number_can_be_are_replaced_like_any_other(desk: Desk) -> None:
    desk.land(ORDERS, [(key, "old", 1) for key in (LEAST, LEAST + 1, -1, 0, 1, 2, 3, MOST - 1, MOST)])
    counts = desk.land(ORDERS, [(LEAST, "new", 2), (0, "new", 2), (MOST, "new", 2)]).rows
    assert (counts.updated, counts.inserted) == (3, 0)
    new = {row[0] for row in desk.rows(ORDERS) if row[1] == "new"}
    assert (new, len(desk.rows(ORDERS))) == ({LEAST, 0, MOST}, 9)
    assert desk.land(ORDERS, [(7, "new", 3)]).rows.inserted == 1, "a key between those that are there"


def read(spark: SparkSession) -> dict[int, int]:
    """Rows that Spark's tasks have read of files, by the number of the stage; Spark forgets the oldest stages."""
    context, jvm = spark.sparkContext, cast(Any, spark.sparkContext._jvm)
    scala: Any = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    none, gateway = jvm.java.util.ArrayList(), cast(Any, context._gateway)
    listed = scala.statusStore().stageList(None, False, False, gateway.new_array(jvm.double, 0), none)
    stages = [listed.apply(place) for place in range(listed.size())]
    return {int(stage.stageId()): int(stage.inputRecords()) for stage in stages}


@pytest.mark.acceptance
def test_rows_of_files_that_cannot_hold_a_key_of_the_batch_are_not_read_by_spark(
    desk: Desk, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `tasks/test_skipping.py` has the same for commits of our own.
    monkeypatch.setattr(by_tasks, "write", left_to_spark)
    for first in (0, 300, 600):
        desk.land(ORDERS, [(key, "old", 1 + first) for key in range(first, first + 300)])

    def landing(at: int, *, told: bool) -> int:
        plan, shown = desk.plan(ORDERS), desk.show(ORDERS, [(899, "new", at)])
        batch = desk.stage.write(plan, shown)
        before = max(read(spark))
        desk.apply(plan, batch if told else replace(batch, keys=()), shown)
        return sum(rows for stage, rows in read(spark).items() if stage > before)

    of_all, of_some = landing(5000, told=False), landing(5001, told=True)
    assert of_all > 900
    assert of_some < 400, "those of one file at the most"
    assert desk.read(ORDERS).count() == 900
