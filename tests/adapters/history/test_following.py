"""A history follows its copy: the versions that Spark writes are those of the rule, told row by row, and no step is followed twice."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from incremental_assets.adapters.delta import commit
from incremental_assets.adapters.delta.commit_metadata import Kind
from incremental_assets.adapters.delta.history import writing
from incremental_assets.adapters.delta.history.table import Tables
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import EngineLost, TargetChanged
from incremental_assets.core.model.compaction import How
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.deletes import DeleteMode, Deletes, Then
from incremental_assets.core.model.history import FaultyKeys, History, HistoryRows
from incremental_assets.core.model.table import Cursor
from incremental_assets.core.planning.plan import CommitIds, Mode, RollBack
from incremental_assets.core.syncing.following import follow
from tests.adapters.history.chronicle import DDL, Chronicle, at
from tests.fakes.history import overlaps
from tests.spark_jobs import jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def assert_as_the_rule_says(desk: Chronicle) -> None:
    found = desk.versions()
    if desk.kind is History.SCD2:
        assert found == desk.rule
        assert not any(overlaps(versions) for versions in found.values())
    else:
        assert {key: [(each.row, each.seq, each.gone) for each in versions] for key, versions in found.items()} == {
            key: [(each.row, each.seq, each.gone) for each in versions] for key, versions in desk.rule.items()
        }
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)
    assert desk.lake.overlapping_versions(desk.spec) == FaultyKeys(0)
    assert desk.lake.behind(desk.spec) is None


@pytest.mark.acceptance
def test_its_files_are_put_together_and_it_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 1.5, 1, at(0.5)), (2, "new", 1.5, 1, at(0.5)), (3, "new", 1.5, 1, at(0.5))])
    desk.sync([(1, "paid", 1.5, 2, at(1.5))])
    before = desk.lake.layout_of_history(desk.spec)
    assert desk.previous is not None
    version = desk.lake.compact_history(desk.spec, How.GATHER, "run", desk.previous)
    after, log = desk.lake.layout_of_history(desk.spec), open_log(desk.history)
    assert len(after.sizes) < len(before.sizes)
    assert log is not None
    assert (log.version, log.commits(version - 1)[0].note.kind) == (version, Kind.MAINTENANCE)  # type: ignore[union-attr]
    assert_as_the_rule_says(desk)
    desk.sync([(1, "sent", 1.5, 3, at(2.5)), (2, "paid", 1.5, 3, at(2.5))])
    assert_as_the_rule_says(desk)


@pytest.mark.acceptance
@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("kind", [History.SCD2, pytest.param(History.APPEND, marks=pytest.mark.acceptance)])
def test_each_version_of_a_row_is_kept_from_its_own_time_to_that_of_the_next(
    kind: History, tmp_path: Path, spark: SparkSession
) -> None:
    desk = Chronicle(tmp_path, spark, kind=kind)
    desk.sync([(1, "new", 1.5, 1, at(0.5)), (2, "new", -0.0, 1, at(0.6)), (3, "new", None, 1, None)])
    # One changes in time; one with the stamp that it had, as two in one moment do; one with none.
    desk.sync([(1, "paid", 1.5, 2, at(1.5)), (2, "new", 0.0, 2, at(0.6)), (3, "paid", None, 2, None)])
    # One changes with an older stamp, as a transaction does that began first and wrote last; one is stamped past the clock.
    desk.sync([(1, "sent", 1.5, 3, at(0.2)), (2, "sent", 0.0, 3, at(99))])
    # Read again as it is, it is no new version.
    assert desk.sync([(1, "sent", 1.5, 3, at(0.2))]) is not None
    # Gone, and come back with the stamp that it had.
    desk.sync([(1, "sent", 1.5, 4, at(0.2))], gone=[1])
    desk.sync([(1, "sent", 1.5, 5, at(0.2))])
    assert_as_the_rule_says(desk)
    if kind is History.SCD2:
        assert [(each.row["note"], each.begins, each.ends, each.gone) for each in desk.versions()[1]] == [
            ("new", at(0.5), at(1.5), False),
            ("paid", at(1.5), at(3), False),
            ("sent", at(3), at(5), False),
            ("sent", at(5), at(6), True),
            ("sent", at(6), None, False),
        ]


@pytest.mark.acceptance
@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("kind", [History.SCD2, pytest.param(History.APPEND, marks=pytest.mark.acceptance)])
def test_a_marked_row_that_leaves_the_copy_is_no_further_version(
    kind: History, tmp_path: Path, spark: SparkSession
) -> None:
    desk = Chronicle(tmp_path, spark, kind=kind, deletes=Deletes(DeleteMode.DIFF, Then.MARK))
    desk.sync([(1, "new", 1.5, 1, at(0.5)), (2, "new", 1.5, 1, at(0.5))])
    desk.sync([(2, "", None, None, None)], gone=[2])
    told = [(each.row["note"], each.gone) for each in desk.versions()[2]]
    assert told == [("new", False), ("new", True)]
    before, desk.deletes = desk.versions(), Deletes(DeleteMode.DIFF)
    desk.sync([(2, "", None, None, None)], gone=[2])
    assert [row[0] for row in desk.rows(desk.spec)] == [1]
    assert desk.versions() == before
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("seed", range(3))
def test_any_course_of_syncs_leaves_the_versions_of_the_rule(seed: int, tmp_path: Path, spark: SparkSession) -> None:
    dice = random.Random(seed)
    desk = Chronicle(tmp_path, spark, kind=History.APPEND if seed == 0 else History.SCD2, stamps=seed != 1)
    for number in range(1, 7):
        rows = [
            (
                key,
                dice.choice("abc"),
                dice.choice([None, -0.0, 0.0, 1.0]),
                number,
                dice.choice([None, at(dice.uniform(-1, 9))]),
            )
            for key in dice.sample(range(100, 112), dice.randint(1, 6))
        ]
        whole = number > 1 and dice.random() < 0.2
        gone = [] if number == 1 or whole else [row[0] for row in rows[: len(rows) // 3]]
        desk.sync(rows, gone=gone, mode=Mode.FULL_REFRESH if whole else Mode.SYNC)
    assert_as_the_rule_says(desk)


@pytest.mark.acceptance
def test_a_history_begins_with_the_copy_as_it_is_and_goes_on_after_a_pause(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.now = 1
    desk.land(desk.landing, [(1, "new", 2.5, 1, at(0.5)), (2, "new", 2.5, 1, at(0.5))])
    desk.now = 2
    desk.land(desk.landing, [(1, "paid", 2.5, 2, at(1.5))])
    desk.follow()
    assert [each.row["note"] for each in desk.versions()[1]] == ["paid"]
    desk.now = 3
    desk.land(desk.landing, [(2, "paid", 2.5, 3, at(2.5))])
    desk.now = 4
    desk.land(desk.landing, [(2, "sent", 2.5, 4, at(3.5)), (1, "paid", 2.5, 2, at(1.5))], gone=[1])
    desk.follow()
    assert [each.row["note"] for each in desk.versions()[2]] == ["new", "sent"]
    assert_as_the_rule_says(desk)


@pytest.mark.acceptance
def test_a_column_that_comes_is_given_to_the_history(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5)), (2, "new", 2.5, 1, at(0.5))])
    desk.ddl += ", weight int"
    desk.sync([(1, "new", 2.5, 2, at(1.5), 7)])
    assert [each.row["weight"] for each in desk.versions()[1]] == [None, 7]
    assert [each.row["weight"] for each in desk.versions()[2]] == [None]
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
def test_a_column_that_is_widened_in_the_copy_is_widened_in_the_history(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark, ddl=f"{DDL}, pieces int")
    desk.sync([(1, "new", 2.5, 1, at(0.5), 7), (2, "new", 2.5, 1, at(0.5), 7)])
    desk.ddl = f"{DDL}, pieces bigint"
    desk.sync([(1, "new", 2.5, 2, at(1.5), 2**40)])
    assert [each.row["pieces"] for each in desk.versions()[1]] == [7, 2**40]
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
def test_a_step_that_another_run_has_followed_meanwhile_is_followed_once(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5))])
    desk.now = 2
    desk.land(desk.landing, [(1, "paid", 2.5, 2, at(1.5))])
    step = desk.lake.behind(desk.spec)
    assert step is not None
    assert desk.lake.follow(desk.spec, step, "first").added == 1
    # It slept after it had looked, past the commit of the run that took over from it.
    tables = Tables(desk.spec, cast(TableLog, open_log(desk.path(desk.spec))), desk.path(desk.spec), desk.history)
    assert writing.follow(spark, Tasks(lambda: spark), tables, step, "second") == HistoryRows()
    assert desk.lake.follow(desk.spec, step, "second") == HistoryRows()
    assert [each.row["note"] for each in desk.versions()[1]] == ["new", "paid"]


@pytest.mark.acceptance
def test_a_copy_that_is_rolled_back_takes_its_history_back(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5)), (2, "new", 2.5, 1, at(0.5))])
    desk.sync([(1, "paid", 2.5, 2, at(1.5))])
    then, state, log = desk.versions(), desk.previous, open_log(desk.path(desk.spec))
    assert state is not None
    assert log is not None
    desk.sync([(1, "sent", 2.5, 3, at(2.5)), (3, "new", 2.5, 3, at(2.5))])
    seq = next(desk.sequences)
    names = RollBack(CommitIds(log.app_id, seq, "back"), "the-rollback", log.version, state.seq)
    desk.lake.roll_back(desk.landing, names, replace(state, seq=seq, batch_id="back"))
    done = follow(desk.spec, "the-rollback", desk.lake)
    assert done is not None
    assert (done.added, done.ended, done.rows) == (0, 0, 3)
    assert desk.versions() == then
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(0)


@pytest.mark.acceptance
def test_a_history_that_cannot_be_taken_back_for_now_waits_for_the_next_run(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its versions of then are there: to write them anew would leave those that the rollback took away."""
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5))])
    then, state, log = desk.versions(), desk.previous, open_log(desk.path(desk.spec))
    assert state is not None
    assert log is not None
    desk.sync([(1, "sent", 2.5, 2, at(1.5))])
    seq = next(desk.sequences)
    names = RollBack(CommitIds(log.app_id, seq, "back"), "the-rollback", log.version, state.seq)
    desk.lake.roll_back(desk.landing, names, replace(state, seq=seq, batch_id="back"))

    write, ends = commit.write, iter([EngineLost(7, "engine.log")])

    def lost_once(rows: DataFrame, to: commit.Write) -> None:
        for error in ends:
            raise error
        write(rows, to)

    with monkeypatch.context() as hiccup:
        hiccup.setattr(eligible, "refused_by_table", lambda _: "it is to be Spark's")
        hiccup.setattr(commit, "write", lost_once)
        with pytest.raises(EngineLost):
            follow(desk.spec, "the-rollback", desk.lake)
    follow(desk.spec, "the-rollback", desk.lake)
    assert desk.versions() == then


@pytest.mark.acceptance
def test_stamps_without_a_zone_are_moments_in_the_zone_of_the_source(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark, ddl=DDL.replace("changed timestamp", "changed timestamp_ntz"))
    spec = replace(desk.landing, cursor=Cursor("changed", CursorType.DATETIME))
    desk.now = 3
    for number, local in enumerate((at(1), at(2))):
        desk.land(desk.landing, [(1, f"{number}", 2.5, number, local.replace(tzinfo=None))])
        step = desk.lake.behind(spec)
        assert step is not None
        assert desk.lake.follow(spec, replace(step, zone="Europe/Paris"), "run").added == 1
    assert [(each.begins, each.ends) for each in desk.versions()[1]] == [(at(0), at(1)), (at(1), None)]


def test_one_batch_is_one_job(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5)), (2, "new", 2.5, 1, at(0.5))])
    desk.land(desk.landing, [(1, "paid", 2.5, 2, at(1.5)), (3, "new", 2.5, 2, at(1.5))])
    step = desk.lake.behind(desk.spec)
    assert step is not None
    before = jobs(spark)
    assert desk.lake.follow(desk.spec, step, "run") == HistoryRows(2, 0, 1, 2, 4)
    assert jobs(spark) - before == 1


@pytest.mark.acceptance
def test_what_other_hands_did_to_the_versions_is_found(tmp_path: Path, spark: SparkSession) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5)), (2, "new", 2.5, 1, at(0.5)), (3, "new", 2.5, 1, at(0.5))])
    desk.sync([(1, "paid", 2.5, 2, at(1.5)), (2, "paid", 2.5, 2, at(1.5))])
    spark.sql(
        f"UPDATE delta.`{desk.history}` SET _valid_to = _valid_to + INTERVAL 1 HOUR WHERE id = 1 AND note = 'new'"
    )
    spark.sql(f"UPDATE delta.`{desk.history}` SET note = 'sent' WHERE id = 3")
    assert desk.lake.overlapping_versions(desk.spec) == FaultyKeys(1, ("1",))
    assert desk.lake.differing_versions(desk.spec) == FaultyKeys(1, ("3",))


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE {t} SET note = 'theirs' WHERE _is_current",
        "RESTORE TABLE {t} TO VERSION AS OF 1",
    ],
)
def test_a_history_that_another_writer_has_changed_stands_until_it_is_put_back(
    harm: str, tmp_path: Path, spark: SparkSession
) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5)), (2, "new", 2.5, 1, at(0.5))])
    desk.sync([(1, "paid", 2.5, 2, at(1.5))])
    log = open_log(desk.history)
    assert log is not None
    table = f"delta.`{desk.history}`"
    spark.sql(f"OPTIMIZE {table}")
    assert desk.lake.behind(desk.spec) is None, "what leaves every row as it is does no harm"
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {log.version}")
    spark.sql(harm.format(t=table))
    told = f"the history at {desk.history} was changed by another writer \\({harm.split(maxsplit=1)[0]} in version .* VERSION AS OF {log.version}\\)"
    with pytest.raises(TargetChanged, match=told):
        desk.lake.behind(desk.spec)
    assert desk.previous is not None
    with pytest.raises(TargetChanged, match=told):
        desk.lake.compact_history(desk.spec, How.GATHER, "run", desk.previous)
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {log.version}")
    desk.sync([(2, "paid", 2.5, 3, at(2.5))])
    assert_as_the_rule_says(desk)


@pytest.mark.acceptance
def test_a_table_that_is_no_history_and_a_history_of_another_kind_are_refused(
    tmp_path: Path, spark: SparkSession
) -> None:
    desk = Chronicle(tmp_path, spark)
    desk.sync([(1, "new", 2.5, 1, at(0.5))])
    desk.kind = History.APPEND
    with pytest.raises(TargetChanged, match="was kept as `history: scd2`"):
        desk.lake.behind(desk.spec)
    spark.sql(f"ALTER TABLE delta.`{desk.history}` UNSET TBLPROPERTIES ('incremental_assets.history')")
    with pytest.raises(TargetChanged, match="no history of this program's"):
        desk.lake.behind(desk.spec)
