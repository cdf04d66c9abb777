"""A batch that replaces most of its target is written along with the rows that stay, on real Spark and Delta."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.delta import commit
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks import write as by_tasks
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import ORDERS, Desk, Row, table
from tests.left_to_spark import left_to_spark

if TYPE_CHECKING:
    pass

FIRST: list[Row] = [(1, "a", 10), (2, "b", 20), (3, None, 30), (4, "d", 40)]


def has_written_anew(desk: Desk, version: int) -> bool:
    """Whether a commit says so; then it has marked no row in a file that it left."""
    log = open_log(desk.path(ORDERS))
    assert log is not None
    (note,) = (commit.note for commit in log.ours() if commit.version == version)
    text = (Path(desk.path(ORDERS)) / "_delta_log" / f"{version:020d}.json").read_text()
    adds = [action["add"] for action in map(json.loads, text.splitlines()) if "add" in action]
    anew = note is not None and note.rows_before is not None
    assert not (anew and any(add.get("deletionVector") for add in adds))
    return anew


@pytest.mark.acceptance
def test_rows_that_are_not_in_the_batch_stay_with_the_sequence_that_brought_them(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(2, "B", 50), (3, "C", 51), (9, "new", 52)], late=[9])
    assert has_written_anew(desk, second.version)
    assert second.rows == RowCounts(read=3, inserted=1, updated=2, late=1)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 50), (3, "C", 51), (4, "d", 40), (9, "new", 52)]
    written = {row.id: (row._sync_seq, row._sync_run_id) for row in desk.read(ORDERS).collect()}
    assert written == {1: (1, "run-1"), 2: (2, "run-2"), 3: (2, "run-2"), 4: (1, "run-1"), 9: (2, "run-2")}
    # A run that died right after is told with the same numbers, but for what only the write could count.
    assert desk.lake.find(ORDERS, "batch2") == replace(second, rows=replace(second.rows, late=0))


def test_a_smaller_batch_leaves_the_files_that_are_there(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(2, "B", 50)])
    assert not has_written_anew(desk, second.version)
    assert second.rows == RowCounts(read=1, updated=1)


def test_rows_that_were_marked_as_deleted_do_not_come_back(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    desk.land(ORDERS, [(2, "B", 50)])
    third = desk.land(ORDERS, [(3, "C", 60), (4, "D", 61), (9, "new", 62)])
    assert has_written_anew(desk, third.version)
    assert third.rows == RowCounts(read=3, inserted=1, updated=2)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 50), (3, "C", 60), (4, "D", 61), (9, "new", 62)]


@pytest.mark.acceptance
def test_any_value_stays_as_it_was_and_any_name_is_a_column(desk: Desk) -> None:
    awkward = table("a `b` bigint, x.y double, Z 9 binary, at bigint", key=("a `b`", "x.y"))
    desk.land(awkward, [(1, math.nan, b"\x00", 10), (1, -0.0, b"", 20), (2, math.inf, None, 30), (3, 0.5, b"x", 40)])
    second = desk.land(awkward, [(1, math.nan, b"new", 50), (3, 0.5, b"new", 51)])
    assert second.rows == RowCounts(read=2, updated=2)
    rows = {(row[0], str(row[1])): row[2] for row in desk.rows(awkward)}
    assert rows == {(1, "nan"): b"new", (1, "-0.0"): b"", (2, "inf"): None, (3, "0.5"): b"new"}


@pytest.mark.acceptance
def test_a_table_with_a_change_feed_tells_of_no_row_that_stays(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    desk.sql("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableChangeDataFeed = 'TRUE')", ORDERS)
    second = desk.land(ORDERS, [(2, "B", 50), (3, "C", 51)])
    assert not has_written_anew(desk, second.version)
    assert second.rows == RowCounts(read=2, updated=2)
    feed = desk.spark.read.option("readChangeFeed", "true").option("startingVersion", second.version)
    assert {row.id for row in feed.format("delta").load(desk.path(ORDERS)).collect()} == {2, 3}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("ALTER TABLE {t} CLUSTER BY (at)", id="an order", marks=pytest.mark.acceptance),
        pytest.param("ALTER TABLE {t} SET TBLPROPERTIES (delta.enableRowTracking = true)", id="row numbers"),
    ],
)
def test_what_another_hand_has_given_the_table_is_not_taken_by_a_large_batch(desk: Desk, statement: str) -> None:
    desk.land(ORDERS, FIRST)
    desk.sql(statement, ORDERS)
    second = desk.land(ORDERS, [(2, "B", 50), (3, "C", 51)])
    assert not has_written_anew(desk, second.version)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 50), (3, "C", 51), (4, "d", 40)]


@pytest.mark.acceptance
def test_partitions_that_another_hand_has_made_stay(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    parted = desk.read(ORDERS).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    parted.partitionBy("note").save(desk.path(ORDERS))
    second = desk.land(ORDERS, [(2, "B", 50), (3, "C", 51)])
    assert not has_written_anew(desk, second.version)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 50), (3, "C", 51), (4, "d", 40)]


@pytest.mark.acceptance
def test_a_column_of_another_hand_that_begins_as_ours_do_keeps_its_values(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    desk.sql("ALTER TABLE {t} ADD COLUMNS (_sync_note string)", ORDERS)
    second = desk.land(ORDERS, [(2, "B", 50), (3, "C", 51)])
    assert has_written_anew(desk, second.version)
    assert "_sync_note" in desk.read(ORDERS).columns


@pytest.mark.acceptance
def test_rows_are_not_written_anew_under_other_columns(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(table("id bigint, note string, at bigint, more string"), [(2, "B", 50, "m"), (3, "C", 51, "m")])
    assert not has_written_anew(desk, second.version)
    assert desk.rows(ORDERS) == [(1, "a", 10, None), (2, "B", 50, "m"), (3, "C", 51, "m"), (4, "d", 40, None)]


@pytest.mark.acceptance
def test_a_hand_that_reaches_in_while_the_table_is_written_anew_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.land(ORDERS, FIRST)
    # A commit of our own is not made at all then: `tasks/test_landing.py`.
    monkeypatch.setattr(by_tasks, "write", left_to_spark)
    write = commit.write

    def overtaken(*asked: Any) -> None:
        desk.other_hand("DELETE", ORDERS)
        write(*asked)

    monkeypatch.setattr(commit, "write", overtaken)
    with pytest.raises(TargetChanged, match="by another writer while this sync ran"):
        desk.land(ORDERS, [(2, "B", 50), (3, "C", 51)])
