"""What becomes of rows that cannot land, and of several with a key that the source does not enforce?"""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.quarantine import by_tasks
from incremental_assets.core.model.schema_drift import Reached
from incremental_assets.core.model.table import cursor_of
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import EVENTS, ORDERS, Desk, table
from tests.left_to_spark import left_to_spark

DECLARED = replace(ORDERS, key_enforced=False)


# --- keys that the source does not enforce ------------------------------------------------------------


@pytest.mark.acceptance
def test_of_a_declared_key_the_largest_cursor_lands_and_none_from_below_it_overwrites_it(desk: Desk) -> None:
    first = desk.land(DECLARED, [(1, "old", 10), (1, "new", 12), (1, "mid", 11), (2, "b", 5)])
    assert first.rows == RowCounts(read=4, inserted=2)
    # The row with 12 may still be there: nobody has looked above 10.
    second = desk.land(DECLARED, [(1, "older", 9), (2, "B", 5), (2, "A", 5)], window=(None, 10))
    assert second.rows == RowCounts(read=3, updated=1, unchanged=1)
    assert desk.rows(DECLARED) == [(1, "new", 12), (2, "B", 5)]


@pytest.mark.acceptance
def test_a_row_of_a_declared_key_whose_cursor_got_smaller_is_the_newer_one_where_all_above_it_was_read(
    desk: Desk,
) -> None:
    """A transaction that began at 8 overwrites what another one wrote at 10: the source has one row, and its stamp went back."""
    desk.land(DECLARED, [(1, "by the other one", 10), (2, "b", 11), (3, "c", 12)])
    second = desk.land(
        DECLARED, [(1, "the last word", 8), (2, "b", 11), (3, "without a stamp", None)], window=(8, None)
    )
    assert second.rows == RowCounts(read=3, updated=2, unchanged=1)
    assert desk.rows(DECLARED) == [(1, "the last word", 8), (2, "b", 11), (3, "without a stamp", None)]


@pytest.mark.acceptance
def test_a_row_of_a_declared_key_that_cannot_land_any_more_leaves_the_copy_though_its_cursor_got_smaller(
    desk: Desk,
) -> None:
    desk.land(DECLARED, [(1, "a", 10), (2, "b", 11)])
    assert desk.land(DECLARED, [(1, "broken", 8)], bad=["broken"], window=(8, None)).rows == RowCounts(
        read=1, deleted=1, quarantined=1
    )
    assert desk.rows(DECLARED) == [(2, "b", 11)]
    # Below the row that landed it may be another one with the same key.
    desk.land(DECLARED, [(2, "broken", 7)], bad=["broken"], window=(None, 9))
    assert desk.rows(DECLARED) == [(2, "b", 11)]


@pytest.mark.acceptance
def test_of_a_declared_key_a_row_that_lands_keeps_its_place_whatever_else_has_that_key(desk: Desk) -> None:
    spec = table("id bigint, note string, at bigint", enforced=False)
    desk.land(spec, [(1, "a", 10), (2, "b", 20)])
    desk.land(spec, [(1, "new", 12), (1, "bad", 11), (2, "bad", 15)], bad=["bad"], window=(11, 16))
    assert desk.rows(spec) == [(1, "new", 12), (2, "b", 20)]


# --- quarantine ---------------------------------------------------------------------------------------


def test_a_row_without_a_whole_key_goes_to_quarantine_once_and_the_others_land(desk: Desk) -> None:
    rows = [(1, "a", 10), (None, "lost", 11)]
    assert desk.land(ORDERS, rows).rows == RowCounts(read=2, inserted=1, quarantined=1)
    assert desk.land(ORDERS, [*rows, (None, "more", 12)]).rows == RowCounts(read=3, unchanged=1, quarantined=2)
    kept = desk.quarantined(ORDERS)
    assert sorted((row["id"], row["note"], row["at"], row["_sync_column"], row["_sync_seq"]) for row in kept) == [
        (None, "lost", "11", "id", 1),
        (None, "more", "12", "id", 2),
    ]
    assert {row["_sync_reason"] for row in kept} == {"a part of the key is NULL"}


@pytest.mark.acceptance
def test_rows_of_one_key_and_cursor_that_cannot_land_are_all_in_quarantine_and_once(desk: Desk) -> None:
    first = [(None, "ann", 11), (None, "bob", 11), (7, "unfit", 11)]
    assert desk.land(ORDERS, first, bad=["unfit"]).rows == RowCounts(read=3, quarantined=3)
    desk.land(ORDERS, first, bad=["unfit"])
    assert texts(desk) == [("7", "unfit", "11", 1), (None, "ann", "11", 1), (None, "bob", "11", 1)]
    desk.land(ORDERS, [*first, (None, "cyd", 11), (7, "worse", 11)], bad=["unfit", "worse"])
    assert texts(desk)[3:] == [("7", "worse", "11", 3), (None, "cyd", "11", 3)]


@pytest.mark.acceptance
def test_rows_without_a_key_that_are_alike_in_everything_are_as_many_in_quarantine(desk: Desk) -> None:
    desk.land(ORDERS, [(None, "ann", 11)])
    desk.land(ORDERS, [(None, "ann", 11), (None, "ann", 11), (None, None, 11), (None, "null", 11)])
    assert [each[1:] for each in texts(desk)] == [
        ("ann", "11", 1),
        ("ann", "11", 2),
        ("null", "11", 2),
        (None, "11", 2),
    ]


@pytest.mark.acceptance
def test_a_row_that_cannot_land_is_known_again_in_a_table_that_has_gained_a_column(desk: Desk) -> None:
    desk.land(ORDERS, [(None, "ann", 11)])
    wider = table("id bigint, note string, at bigint, more string")
    desk.land(wider, [(None, "ann", 11, None), (None, "ann", 11, "new")])
    kept = {each["_sync_seq"]: (each["note"], each["more"]) for each in desk.quarantined(wider)}
    assert kept == {1: ("ann", None), 2: ("ann", "new")}
    assert len(desk.quarantined(wider)) == 2


@pytest.mark.acceptance
def test_what_an_earlier_table_left_in_quarantine_stays_beside_what_a_new_one_puts_there(desk: Desk) -> None:
    desk.land(ORDERS, [(None, "of the first", 10), (1, "a", 10)])
    shutil.rmtree(desk.path(ORDERS))
    again = Desk(desk.folder, desk.spark)
    plan, shown = again.plan(ORDERS), again.show(ORDERS, [(None, "of the second", 20), (1, "a", 20)])
    other = replace(plan, commit_ids=replace(plan.commit_ids, app_id="another"))
    commit = again.apply(other, again.stage.write(other, shown), shown)
    assert commit.rows == RowCounts(read=2, inserted=1, quarantined=1)
    assert sorted(row["note"] for row in again.quarantined(ORDERS)) == ["of the first", "of the second"]


def texts(desk: Desk) -> list[tuple[object, ...]]:
    """Of each row in quarantine its values, and the sequence with which it came."""
    rows = [(row["id"], row["note"], row["at"], row["_sync_seq"]) for row in desk.quarantined(ORDERS)]
    return sorted(rows, key=lambda row: (row[-1], str(row)))


@pytest.mark.parametrize("by", ["tasks", pytest.param("spark", marks=pytest.mark.acceptance)])
def test_a_row_that_comes_late_and_cannot_land_is_counted_as_late_once(
    by: str, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "spark":
        monkeypatch.setattr(by_tasks, "keep", left_to_spark)
    declared = replace(ORDERS, cursor=replace(cursor_of(ORDERS), within=timedelta(seconds=30)))
    desk.land(declared, [(1, "a", 10), (2, "b", 20)])
    come = [(3, "bad", 5), (4, "bad", 30), (5, "e", 6)]
    late = desk.land(declared, come, bad=["bad"], late=[3, 5])
    assert (late.rows.quarantined, late.rows.inserted, late.rows.late) == (2, 1, 2)
    again = desk.land(declared, come, bad=["bad"], late=[3, 5])
    assert (again.rows.quarantined, again.rows.late) == (2, 0)


# --- rows that can no longer land ---------------------------------------------------------------------


def test_a_row_that_can_no_longer_land_leaves_the_copy_in_the_commit_of_its_batch(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), (3, "c", 30), (4, "d", 40)])
    versions = len(list((Path(desk.path(ORDERS)) / "_delta_log").glob("*.json")))
    second = desk.land(ORDERS, [(1, "A", 11), (2, "bad", 21), (3, "c", 30), (5, "e", 50)], bad=[2], late=[1])

    assert second.rows == RowCounts(read=4, inserted=1, updated=1, deleted=1, unchanged=1, late=1, quarantined=1)
    assert desk.rows(ORDERS) == [(1, "A", 11), (3, "c", 30), (4, "d", 40), (5, "e", 50)]
    assert len(list((Path(desk.path(ORDERS)) / "_delta_log").glob("*.json"))) == versions + 1
    assert any("1 row was taken out of the copy" in text for text in second.warnings)
    assert desk.lake.find(ORDERS, "batch2") == replace(second, rows=replace(second.rows, late=0), warnings=())
    # Read again, it has nothing left to take away; fixed, it lands.
    assert desk.land(ORDERS, [(2, "bad", 21)], bad=[2]).rows == RowCounts(read=1, quarantined=1)
    assert desk.land(ORDERS, [(2, "fixed", 22)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(ORDERS) == [(1, "A", 11), (2, "fixed", 22), (3, "c", 30), (4, "d", 40), (5, "e", 50)]


@pytest.mark.acceptance
def test_a_row_that_can_no_longer_land_leaves_a_copy_that_gets_a_new_column(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    wider = table("id bigint, `${env:HOME} string, at bigint".replace("`", ""))
    desk.land(wider, [(1, "home", 11), (2, "bad", 21)], bad=[2])
    assert desk.rows(wider) == [(1, "a", 11, "home")]
    column = next(found for found in open_log(desk.path(ORDERS)).columns() if found.name == "${env:HOME}")  # type: ignore[union-attr]
    assert (column.since, column.since_cursor) == (2, Reached("at:integer", "20"))


@pytest.mark.acceptance
def test_all_rows_of_a_key_that_the_copy_holds_twice_leave_it(desk: Desk) -> None:
    desk.land(ORDERS, [(1, "a", 10), (2, "b", 20)])
    desk.sql("INSERT INTO {t} SELECT * FROM {t}", ORDERS)
    desk.land(ORDERS, [(1, "A", 11), (2, "bad", 21)], bad=[2])
    assert desk.rows(ORDERS) == [(1, "A", 11)]


@pytest.mark.acceptance
def test_an_append_keeps_the_versions_that_were_seen_before_one_that_cannot_land(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])
    assert desk.land(EVENTS, [(1, "bad", 11)], bad=[1]).rows == RowCounts(read=1, quarantined=1)
    assert desk.rows(EVENTS) == [(1, "a", 10)]
