"""A history that is switched on for a full copy: tasks or Spark, its first versions are the rows of the copy, whatever the table has been through."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.commit_file import ENGINE
from incremental_assets.adapters.delta.log.transaction_log import APP_ID
from incremental_assets.adapters.spark.expressions import quoted
from incremental_assets.adapters.spark.own_names import AT, RUN_ID, SEQ
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.history import FaultyKeys, History, HistoryRows
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, Renaming
from tests.adapters.batches import APP, Row
from tests.adapters.history.chronicle import DDL, Chronicle, at
from tests.adapters.history.test_following import assert_as_the_rule_says
from tests.spark_jobs import jobs, sql_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOTH = pytest.mark.parametrize("kind", [History.SCD2, pytest.param(History.APPEND, marks=pytest.mark.acceptance)])


def begun_by_us(desk: Chronicle) -> bool:
    told = [json.loads(line) for line in (Path(desk.history) / "_delta_log" / f"{1:020d}.json").open()]
    return next(each["commitInfo"]["engineInfo"] == ENGINE for each in told if "commitInfo" in each)


@pytest.mark.acceptance
@BOTH
def test_rows_of_several_files_with_deletion_vectors_and_without_a_time(
    kind: History, writer: str, tmp_path: Path, spark: SparkSession
) -> None:
    desk = Chronicle(tmp_path, spark, kind=kind)
    desk.now = 1
    rows = [(10, "new", 1.5, 1, at(0.5)), (20, "new", -0.0, 1, None), (30, "new", None, 1, at(0.5))]
    desk.land(desk.landing, [*rows, (40, "past the clock", 1.5, 1, at(99))])
    desk.now = 2
    desk.land(desk.landing, [(10, "paid", 0.0, 2, at(1.5)), (30, "new", None, 1, at(0.5))], gone=[30])
    copy = log_cache.latest(desk.path(desk.spec))
    assert copy is not None
    assert any(each.get("deletionVector") for each in copy.state.files.values())
    assert desk.follow() == HistoryRows(3, 0, 0, 1, 3)
    assert begun_by_us(desk) is (writer == "tasks")
    # What follows is matched with them: each of them is still told.
    desk.sync([(10, "sent", 0.0, 3, at(2.5)), (20, "new", -0.0, 1, None)])
    assert_as_the_rule_says(desk)


def test_it_is_one_job_without_sql_however_many_files_the_copy_has(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    for number in (1, 2, 3):
        desk.land(desk.landing, [(number, "new", 1.5, number, at(0.5))])
    step = desk.lake.behind(desk.spec)
    assert step is not None
    before, sql = jobs(spark), sql_statements(spark)
    assert desk.lake.follow(desk.spec, step, "run") == HistoryRows(3, 0, 0, 1, 3)
    assert (jobs(spark) - before, sql_statements(spark) - sql) == (1, 0)


@pytest.mark.acceptance
def test_columns_that_were_renamed_and_widened(writer: str, tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark, ddl=f"{DDL}, pieces int")
    desk.now = 1
    desk.land(desk.landing, [(1, "new", 2.5, 1, at(0.5), 7), (2, "new", 2.5, 1, at(0.5), 7)])
    desk.ddl = f"{DDL}, pieces bigint"
    desk.now = 2
    desk.land(desk.landing, [(1, "new", 2.5, 2, at(1.5), 2**40)])
    assert desk.previous is not None
    names = CommitIds(APP, next(desk.sequences), "names")
    state = replace(desk.previous, seq=names.seq, batch_id=names.batch_id)
    desk.lake.rename(desk.spec, Renaming(names, "run", (Rename("note", "remark"),)), state)
    desk.ddl = desk.ddl.replace("note", "remark")
    assert desk.follow() == HistoryRows(2, 0, 0, 1, 2)
    assert begun_by_us(desk) is (writer == "tasks")
    assert [(each.row["remark"], each.row["pieces"]) for each in desk.versions()[1]] == [("new", 2**40)]
    assert [(each.row["remark"], each.row["pieces"]) for each in desk.versions()[2]] == [("new", 7)]
    assert_as_the_rule_says(desk)


@dataclass
class Marking(Chronicle):
    """A copy that keeps rows that are gone, and says so."""

    @property
    def landing(self) -> TableSpec:
        return replace(super().landing, deletes=Deletes(DeleteMode.DIFF, Then.MARK))


@pytest.mark.acceptance
def test_rows_that_the_copy_marks_as_gone(writer: str, tmp_path: Path, spark: SparkSession) -> None:
    desk = Marking(tmp_path, spark)
    desk.now = 1
    desk.land(desk.landing, [(10, "new", 2.5, 1, at(0.5)), (20, "new", 2.5, 1, at(0.5)), (30, "new", 2.5, 1, None)])
    desk.now = 2
    desk.land(desk.landing, [(20, "new", 2.5, 1, at(0.5))], gone=[20])
    assert desk.follow() == HistoryRows(2, 1, 0, 1, 3)
    assert begun_by_us(desk) is (writer == "tasks")
    versions = [(key, each.begins, each.ends, each.gone) for key, of in desk.versions().items() for each in of]
    assert sorted(versions) == [(10, at(0.5), None, False), (20, at(2), None, True), (30, at(2), None, False)]
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)
    assert desk.lake.overlapping_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
@BOTH
def test_a_copy_that_marks_what_is_gone_is_followed_batch_by_batch_without_sql(
    kind: History, writer: str, tmp_path: Path, spark: SparkSession
) -> None:
    desk, sql = Marking(tmp_path, spark, kind=kind), 0
    desk.sync([(10, "new", 2.5, 1, at(0.5)), (20, "new", 2.5, 1, at(0.5)), (30, "new", 2.5, 1, at(0.5))])
    batches: list[tuple[list[Row], list[object]]] = [
        ([(10, "paid", 2.5, 2, at(1.5)), (20, "new", 2.5, 1, at(0.5))], [20]),
        # Gone again, which is nothing new; then it comes back as it was.
        ([(20, "new", 2.5, 1, at(0.5))], [20]),
        ([(20, "new", 2.5, 1, at(0.5))], []),
        ([(10, "sent", 2.5, 5, at(4.5)), (30, "new", 2.5, 1, at(0.5))], [30]),
    ]
    for rows, gone in batches:
        desk.now += 1
        desk.land(desk.landing, rows, gone=gone)
        step, before = desk.lake.behind(desk.spec), sql_statements(spark)
        if step is not None:
            desk.lake.follow(desk.spec, step, "run")
        sql += sql_statements(spark) - before
    assert (sql == 0) is (writer == "tasks")
    found = {key: [(each.row["note"], each.gone) for each in of] for key, of in desk.versions().items()}
    assert found == {
        10: [("new", False), ("paid", False), ("sent", False)],
        20: [("new", False), ("new", True), ("new", False)],
        30: [("new", False), ("new", True)],
    }
    if kind is History.SCD2:
        times = {key: [each.begins for each in of] for key, of in desk.versions().items()}
        assert times == {10: [at(0.5), at(1.5), at(4.5)], 20: [at(0.5), at(2), at(4)], 30: [at(0.5), at(5)]}
        assert desk.lake.overlapping_versions(desk.spec) == FaultyKeys(0)
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
@BOTH
def test_a_copy_that_its_owner_has_partitioned_is_sparks_to_read(
    kind: History, tmp_path: Path, spark: SparkSession
) -> None:
    desk = Chronicle(tmp_path, spark, kind=kind)
    own = f"{RUN_ID} string, {SEQ} bigint, {AT} timestamp"
    spark.sql(
        f"CREATE TABLE delta.{quoted(desk.path(desk.spec))} ({DDL}, {own}) USING delta PARTITIONED BY (note) "
        f"TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', '{APP_ID}' = '{APP}')"
    )
    desk.now = 1
    desk.land(desk.landing, [(1, "new", 2.5, 1, at(0.5)), (2, "paid", None, 1, None)])
    assert desk.follow() == HistoryRows(2, 0, 0, 1, 2)
    assert not begun_by_us(desk)
    assert_as_the_rule_says(desk)
