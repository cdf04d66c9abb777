"""Files of real Delta tables are put together: no row is another one after it, and each commit says what it is."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable, QueryBuilder

from incremental_assets.adapters.delta import compaction as upkeep
from incremental_assets.adapters.delta.commit_metadata import Kind
from incremental_assets.adapters.delta.log.commit_file import ENGINE
from incremental_assets.adapters.delta.log.transaction_log import Committed, open_log
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.tasks import Tasks
from incremental_assets.core.errors import CommitMissing, Overtaken
from incremental_assets.core.model import compaction as maintenance
from incremental_assets.core.model.compaction import How, compaction
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import APP, Desk, Row, table
from tests.adapters.tasks.kernel import kernel_rows
from tests.spark_jobs import sql_statements

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = table("id bigint, note string, at bigint")


@pytest.fixture
def desk(tmp_path: Path, spark: SparkSession) -> Desk:
    return Desk(tmp_path, spark)


@pytest.fixture
def spark_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where no commit of ours may be."""
    monkeypatch.setattr(eligible, "refused_by_table", lambda _: "a test says so")


@pytest.fixture(params=["tasks", pytest.param("spark", marks=pytest.mark.acceptance)])
def by(request: pytest.FixtureRequest) -> str:
    """Who compacts."""
    if request.param == "spark":
        request.getfixturevalue("spark_alone")
    return str(request.param)


def commits(desk: Desk, spec: TableSpec = ORDERS) -> tuple[Committed, ...]:
    """Newest first."""
    log = open_log(desk.path(spec))
    assert log is not None
    return log.commits(-1)


def files(desk: Desk) -> int:
    return len(desk.lake.layout(ORDERS).sizes)


def landed(desk: Desk) -> State:
    """What the last sync left."""
    assert desk.previous is not None
    return desk.previous


OTHERS: list[Row] = [(11, "x", 5), (12, "y", 5), (13, "z", 5)]


def some_files(desk: Desk) -> None:
    # A table of which half is replaced would be rewritten, as one file.
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), *OTHERS])
    desk.land(ORDERS, [(2, "B", 30), (3, "c", 30)])
    assert files(desk) > 1


@pytest.mark.acceptance
@pytest.mark.usefixtures("by")
def test_with_every_tick_cared_for_the_files_stay_few_and_the_rows_are_those_of_the_ticks(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it cost next to nothing, so that its turn comes within a few ticks.
    monkeypatch.setattr(maintenance, "START", 0.05)
    counts = []
    for number in range(8):
        desk.land(ORDERS, [(number, "new", number), (max(0, number - 3), f"changed in {number}", number)])
        why = compaction(desk.lake.layout(ORDERS))
        if why is not None:
            desk.lake.compact(ORDERS, why.how, "run", landed(desk))
        counts.append(files(desk))

    assert 1 in counts[4:]
    assert max(counts) < 6
    assert desk.rows(ORDERS) == sorted(
        [(number, f"changed in {number + 3}", number + 3) for number in range(5)]
        + [(number, "new", number) for number in range(5, 8)],
        key=str,
    )


@pytest.mark.acceptance
@pytest.mark.usefixtures("by")
def test_a_file_that_is_not_small_keeps_its_own_range_of_keys_and_none_is_made_larger_than_the_target(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (upkeep, maintenance):
        monkeypatch.setattr(each, "SMALL", 5_000)
        monkeypatch.setattr(each, "TARGET", 5_000)
    desk.land(ORDERS, [(number, f"{number:x}" * 30, 1) for number in range(2000)])
    large = desk.lake.layout(ORDERS).sizes
    assert min(large) > 5_000
    for number in range(4):
        desk.land(ORDERS, [(5000 + number, "new", number)])
    small = sorted(desk.lake.layout(ORDERS).sizes)[:4]
    assert sum(small[:2]) < 5_000 < sum(small[:3])
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    after = desk.lake.layout(ORDERS).sizes

    assert set(large) < set(after)
    assert len(after) == len(large) + 2
    assert len(desk.rows(ORDERS)) == 2004


@pytest.mark.usefixtures("by")
def test_the_commit_is_ours_and_carries_the_latest_state_and_the_next_sync_lands(desk: Desk) -> None:
    some_files(desk)
    before = commits(desk)[0].version
    version = desk.lake.compact(ORDERS, How.GATHER, "run-m", landed(desk))
    newest = commits(desk)[0]
    found = desk.lake.inspect(ORDERS, None)

    assert (version, newest.version, newest.operation) == (before + 1, before + 1, "OPTIMIZE")
    assert newest.note is not None
    assert (newest.note.kind, newest.note.app_id, newest.note.seq, newest.note.run_id) == (
        Kind.MAINTENANCE,
        APP,
        2,
        "run-m",
    )
    assert newest.note.state == desk.previous
    assert found is not None
    assert (found.state, found.seq, found.foreign) == (desk.previous, 2, "")
    assert files(desk) == 1
    assert desk.land(ORDERS, [(1, "A", 40), (3, "c", 30)]).rows == RowCounts(read=2, updated=1, unchanged=1)
    assert desk.rows(ORDERS) == sorted([(1, "A", 40), (2, "B", 30), (3, "c", 30), *OTHERS], key=str)


@pytest.mark.usefixtures("by")
def test_what_another_hand_did_before_is_still_told_after_it(desk: Desk) -> None:
    some_files(desk)
    desk.other_hand("UPDATE", ORDERS)
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    found = desk.lake.inspect(ORDERS, None)
    assert found is not None
    assert found.foreign.startswith("UPDATE in version 3")


@pytest.mark.acceptance
@pytest.mark.usefixtures("by")
def test_rows_that_are_only_marked_as_deleted_leave_the_files(desk: Desk) -> None:
    desk.land(ORDERS, [(number, "a", 1) for number in range(100)])
    desk.land(ORDERS, [(number, "b", 2) for number in range(40)])
    before = desk.lake.layout(ORDERS)
    desk.lake.compact(ORDERS, How.PURGE, "run", landed(desk))
    after = desk.lake.layout(ORDERS)

    assert (before.rows, before.live, before.dead) == (140, 100, 40)
    assert (after.rows, after.live, after.dead) == (100, 100, 0)
    assert sorted(row[1] for row in desk.rows(ORDERS)) == ["a"] * 60 + ["b"] * 40
    assert commits(desk)[0].note is not None


@pytest.mark.usefixtures("by")
def test_a_file_alone_stays_as_it_is_and_that_is_said(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10)])
    with pytest.raises(
        CommitMissing,
        match=r"^shop\.public\.orders: the log of .* holds no such compaction: nothing was found to compact, ",
    ):
        desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))


@pytest.mark.acceptance
@pytest.mark.usefixtures("spark_alone")
def test_what_looks_like_a_variable_in_a_name_stays_what_it_is(desk: Desk) -> None:
    """Spark replaces `${env:NAME}` in its settings, of which the note of such a commit is one."""
    hostile = table("${env:HOME} bigint, at bigint", key=("${env:HOME}",))
    desk.land(hostile, [(1, 10), (3, 5), (4, 5)])
    desk.land(hostile, [(2, 20)])
    assert desk.rows(hostile) == [(1, 10), (2, 20), (3, 5), (4, 5)]
    desk.lake.compact(hostile, How.GATHER, "run", landed(desk))
    note = commits(desk, hostile)[0].note
    assert note is not None
    assert note.state is not None
    assert note.state.terms.key == ("${env:HOME}",)


@pytest.mark.acceptance
@pytest.mark.usefixtures("spark_alone")
def test_while_one_table_is_cared_for_no_other_commit_of_the_session_gets_its_note(
    tmp_path: Path, spark: SparkSession
) -> None:
    cared, busy = Desk(tmp_path / "cared", spark), [Desk(tmp_path / f"busy{number}", spark) for number in range(4)]
    some_files(cared)
    with ThreadPoolExecutor(2) as pool:
        caring = pool.submit(cared.lake.compact, ORDERS, How.GATHER, "care", landed(cared))
        # A new table is made, which is a commit without a note, and then a first batch lands in it.
        for desk in busy:
            pool.submit(desk.land, ORDERS, [(1, "a", 10)]).result()
        caring.result()

    assert [commit.note.run_id for commit in commits(cared) if commit.note] == ["care", "run-2", "run-1"]
    for desk in busy:
        notes = [(commit.operation, commit.note and commit.note.run_id) for commit in commits(desk)]
        assert notes == [("WRITE", "run-1"), ("CREATE TABLE", None)]
    assert spark.conf.get("spark.databricks.delta.commitInfo.userMetadata", None) is None


HOSTILE = table("`id bigint, a b,c; string, x.y=\t double, ${env:HOME} date, at bigint", key=("`id",))
"""Names that Delta takes under column mapping alone."""


def as_others_read(desk: Desk, spec: TableSpec) -> list[Row]:
    """By delta-rs."""
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in spec.shape.names)
    found = QueryBuilder().register("t", DeltaTable(desk.path(spec))).execute(f"SELECT {listed} FROM t").read_all()
    return sorted((tuple(each.as_py() for each in row) for row in zip(*found.columns, strict=True)), key=str)


@pytest.mark.acceptance
@pytest.mark.parametrize("how", [How.GATHER, pytest.param(How.PURGE, marks=pytest.mark.acceptance)])
def test_every_reader_finds_the_rows_as_they_were_under_hostile_names(desk: Desk, how: How) -> None:
    day = date(1582, 10, 4)
    desk.land(HOSTILE, [(number, f"é{number}", -0.5, day, 1) for number in range(20)])
    desk.land(HOSTILE, [(number, None, None, None, 2) for number in range(5)])
    desk.land(HOSTILE, [(number, "again", 1.5, day, 3) for number in range(3, 9)])
    before = desk.rows(HOSTILE)
    sql = sql_statements(desk.spark)
    desk.lake.compact(HOSTILE, how, "run", landed(desk))

    assert sql_statements(desk.spark) == sql
    assert commits(desk, HOSTILE)[0].engine == ENGINE
    assert desk.lake.layout(HOSTILE).dead == 0
    getters = ("getLong", "getString", "getDouble", "getInt", "getLong")
    as_days = [(*row[:3], row[3] and (row[3] - date(1970, 1, 1)).days, row[4]) for row in before]
    assert kernel_rows(desk.spark, desk.path(HOSTILE), getters) == sorted(as_days, key=str)
    assert desk.rows(HOSTILE) == as_others_read(desk, HOSTILE) == before
    desk.land(HOSTILE, [(4, "after", 2.5, day, 4)])
    assert (4, "after", 2.5, day, 4) in desk.rows(HOSTILE)
    assert len(desk.rows(HOSTILE)) == 20


@pytest.mark.acceptance
def test_columns_that_came_later_or_were_widened_or_left_are_in_the_new_file_as_the_table_has_them(desk: Desk) -> None:
    small = table("id bigint, note string, n int, at bigint")
    desk.land(small, [(1, "a", 1, 10), (2, "b", 2, 20), (3, "c", 3, 5), (4, "d", 4, 5)])
    desk.land(small, [(2, "B", 22, 30)])
    desk.sql(
        "ALTER TABLE {t} SET TBLPROPERTIES (delta.columnMapping.mode = 'name', delta.enableTypeWidening = true)", small
    )
    desk.sql("ALTER TABLE {t} ADD COLUMN (late string)", small)
    desk.sql("ALTER TABLE {t} DROP COLUMN note", small)
    desk.sql("ALTER TABLE {t} ALTER COLUMN n TYPE bigint", small)
    desk.sql("UPDATE {t} SET late = 'x', n = 3000000000 WHERE id = 3", small)
    wide = table("id bigint, n bigint, at bigint, late string")
    before = desk.rows(wide)
    assert files(desk) > 1
    desk.lake.compact(small, How.GATHER, "run", landed(desk))

    assert commits(desk)[0].engine == ENGINE
    assert files(desk) == 1
    assert (
        desk.rows(wide) == before == [(1, 1, 10, None), (2, 22, 30, None), (3, 3_000_000_000, 5, "x"), (4, 4, 5, None)]
    )


@pytest.mark.acceptance
def test_spark_knows_what_was_done(desk: Desk) -> None:
    some_files(desk)
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    history = desk.spark.sql(f"DESCRIBE HISTORY delta.`{desk.path(ORDERS)}` LIMIT 1").collect()[0]
    assert (history["operation"], history["isolationLevel"], history["isBlindAppend"]) == (
        "OPTIMIZE",
        "SnapshotIsolation",
        False,
    )
    assert (history["operationMetrics"]["numRemovedFiles"], history["operationMetrics"]["numAddedFiles"]) == ("2", "1")


@pytest.mark.acceptance
def test_a_row_that_spark_deletes_while_its_file_is_written_anew_never_comes_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_files(desk)
    run_all = Tasks.run_all

    def then_deleted(self: Tasks, module: str, units: Sequence[Any]) -> list[Any]:
        done = run_all(self, module, units)
        desk.sql("DELETE FROM {t} WHERE id = 11", ORDERS)
        return done

    monkeypatch.setattr(Tasks, "run_all", then_deleted)
    with pytest.raises(Overtaken, match=r"^shop\.public\.orders: another writer changed the files of "):
        desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    monkeypatch.undo()
    left = sorted([(1, "a", 10), (2, "B", 30), (3, "c", 30), *OTHERS[1:]], key=str)
    assert desk.rows(ORDERS) == left
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    assert (desk.rows(ORDERS), files(desk)) == (left, 1)


@pytest.mark.acceptance
def test_a_table_that_tasks_must_not_touch_is_told_and_compacted_by_spark(desk: Desk) -> None:
    some_files(desk)
    assert desk.lake.layout(ORDERS).by_tasks
    desk.sql("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableChangeDataFeed = true)", ORDERS)
    before = desk.rows(ORDERS)
    assert not desk.lake.layout(ORDERS).by_tasks
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    assert (files(desk), desk.rows(ORDERS)) == (1, before)
    assert commits(desk)[0].engine != ENGINE


@pytest.mark.acceptance
def test_a_file_that_only_spark_should_read_is_gathered_by_spark(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    some_files(desk)
    before = desk.rows(ORDERS)

    def unreadable(*_: object) -> list[Any]:
        raise NotByTasks("a file has dates of an older calendar")

    monkeypatch.setattr(Tasks, "run_all", unreadable)
    desk.lake.compact(ORDERS, How.GATHER, "run", landed(desk))
    assert (files(desk), desk.rows(ORDERS)) == (1, before)
