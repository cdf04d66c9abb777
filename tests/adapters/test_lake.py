"""What does the lake make of a batch by each strategy, and how does it count it?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import APP, EVENTS, ORDERS, Desk, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNTRIES = table("code string, name string", Strategy.FULL_REFRESH, key=("code",), cursor="")


def at(number: int) -> CursorValue:
    return CursorValue.of(CursorType.INTEGER, number)


def test_an_upsert_inserts_replaces_and_leaves_unchanged_rows_where_they_are(desk: Desk) -> None:
    first = desk.land(ORDERS, [(1, "a", 10), (2, "b", 20), (3, None, 30)])
    # 3 is flagged late as well, but it is not written again.
    second = desk.land(ORDERS, [(2, "B", 20), (3, None, 30), (4, "d", 41)], late=[2, 3])
    assert first.rows == RowCounts(read=3, inserted=3)
    assert second.rows == RowCounts(read=3, inserted=1, updated=1, unchanged=1, late=1)
    assert desk.rows(ORDERS) == [(1, "a", 10), (2, "B", 20), (3, None, 30), (4, "d", 41)]
    written = {row.id: row._sync_seq for row in desk.read(ORDERS).select("id", "_sync_seq").collect()}
    assert written == {1: 1, 2: 2, 3: 1, 4: 2}
    # The next run finds the commit with its counts, but for what only the write itself could count, and with its state.
    assert desk.lake.find(ORDERS, "batch2") == replace(second, rows=replace(second.rows, late=0))
    assert second.state == desk.previous
    assert desk.lake.find(ORDERS, "batch9") is None


def test_a_folder_that_a_dead_run_left_before_its_first_commit_is_no_table(desk: Desk) -> None:
    log = Path(desk.path(ORDERS)) / "_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.5f3c.tmp").write_text('{"commitInfo"')
    assert desk.land(ORDERS, [(1, "a", 10)]).rows == RowCounts(read=1, inserted=1)
    assert desk.rows(ORDERS) == [(1, "a", 10)]


def test_an_append_adds_what_is_new_and_keeps_every_version(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (2, "b", 20)])
    second = desk.land(EVENTS, [(2, "b", 20), (2, "B", 21)])
    assert second.rows == RowCounts(read=2, inserted=1, unchanged=1)
    assert desk.rows(EVENTS) == [(1, "a", 10), (2, "B", 21), (2, "b", 20)]


@pytest.mark.acceptance
def test_an_append_without_a_key_drops_as_many_copies_as_are_there(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10), (1, "a", 10), (2, None, 20)])
    second = desk.land(EVENTS, [(1, "a", 10), (1, "a", 10), (1, "a", 10), (2, None, 20), (2, None, 20)])
    assert second.rows == RowCounts(read=5, inserted=2, unchanged=3)
    assert desk.rows(EVENTS) == [(1, "a", 10)] * 3 + [(2, None, 20)] * 2


def test_an_append_checks_rows_without_a_cursor_against_the_whole_table(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", None), (2, "b", 20)])
    assert desk.land(EVENTS, [(1, "a", None), (3, "c", 30)]).rows == RowCounts(read=2, inserted=1, unchanged=1)


def test_an_append_with_an_enforced_key_compares_whole_rows(desk: Desk) -> None:
    spec = replace(EVENTS, key=("id",), key_enforced=True)
    desk.land(spec, [(1, "a", 10), (2, "b", 20)])
    assert desk.land(spec, [(1, "A", 20), (2, "b", 20)]).rows == RowCounts(read=2, inserted=1, unchanged=1)


@pytest.mark.acceptance
def test_an_append_with_an_enforced_key_lands_a_version_that_goes_back_to_an_earlier_one_and_each_once(
    desk: Desk,
) -> None:
    spec = replace(EVENTS, key=("id",), key_enforced=True)
    desk.land(spec, [(1, "open", 10), (2, "open", 10)])
    desk.land(spec, [(1, "closed", 10), (2, "open", 10)])
    for landed in (RowCounts(read=2, inserted=1, unchanged=1), RowCounts(read=2, unchanged=2)):
        assert desk.land(spec, [(1, "open", 10), (2, "open", 10)]).rows == landed
    written = desk.read(spec).select("_sync_seq", "id", "note").collect()
    assert sorted(map(tuple, written)) == [(1, 1, "open"), (1, 2, "open"), (2, 1, "closed"), (3, 1, "open")]


@pytest.mark.acceptance
def test_rows_from_before_their_key_had_its_name_are_not_versions_of_one_another(desk: Desk) -> None:
    before = table("number bigint, note string, at bigint", Strategy.APPEND, key=("number",))
    desk.land(before, [(1, "a", 10), (2, "b", 10), (3, "c", 10)])
    renamed = table("id bigint, note string, at bigint", Strategy.APPEND)
    desk.land(renamed, [(4, "d", 20)])
    assert desk.land(renamed, [(1, "a", 10), (2, "b", 10), (3, "c", 10), (4, "d", 20)]).rows == RowCounts(
        read=4, unchanged=4
    )


def test_an_overwrite_leaves_the_source_as_it_is_with_its_new_columns(desk: Desk) -> None:
    desk.land(COUNTRIES, [("FR", "France"), ("DD", "East Germany")])
    wider = table("code string, population bigint", Strategy.FULL_REFRESH, key=("code",), cursor="")
    commit = desk.land(wider, [("FR", 68)])
    assert commit.rows == RowCounts(read=1, inserted=1, deleted=2)
    assert desk.rows(wider) == [("FR", 68)]
    assert desk.lake.columns(wider) == (("code", "string"), ("population", "bigint"))
    found = desk.lake.inspect(wider, None)
    assert found is not None
    assert found.app_id == APP


def test_a_name_that_changes_by_case_alone_stays_as_it_landed_and_tasks_overwrite_the_copy(
    desk: Desk, writer: str
) -> None:
    desk.land(COUNTRIES, [("FR", "France")])
    respelled = table("CODE string, Name string", Strategy.FULL_REFRESH, key=("CODE",), cursor="")
    desk.land(respelled, [("DE", "Germany")])
    assert desk.rows(respelled) == [("DE", "Germany")]
    assert desk.lake.columns(respelled) == (("code", "string"), ("name", "string"))
    last = max(Path(desk.path(respelled), "_delta_log").glob("*.json")).read_text(encoding="utf-8")
    assert ('"engineInfo":"incremental-assets/' in last) is (writer == "tasks")


def test_an_empty_batch_commits_its_sequence_and_state(desk: Desk) -> None:
    assert desk.land(EVENTS, []).rows == RowCounts()
    desk.land(EVENTS, [(1, "a", 10)])
    commit = desk.land(EVENTS, [])
    found = desk.lake.inspect(EVENTS, None)
    assert found is not None
    assert (found.version, found.seq, found.state) == (commit.version, 3, desk.previous)


@pytest.mark.acceptance
def test_rows_are_counted_by_the_log_without_those_that_deletion_vectors_mark_and_by_window(desk: Desk) -> None:
    assert desk.lake.rows(ORDERS) is None
    desk.land(ORDERS, [(number, "a", number) for number in range(100)])
    desk.land(ORDERS, [(3, "b", 50), (200, "new", 200)])
    windows = [Window(at(0), at(10)), Window(at(50), at(100)), Window(at(300), None)]
    log = Path(desk.path(ORDERS)) / "_delta_log"

    assert '"deletionVector":{' in "".join(path.read_text() for path in log.glob("*.json"))
    assert desk.lake.rows(ORDERS) == len(desk.rows(ORDERS)) == 101
    assert desk.lake.count(ORDERS, windows) == (9, 51, 0)


def test_tables_land_side_by_side_in_one_session(desk: Desk) -> None:
    def land(name: str) -> RowCounts:
        spec = replace(EVENTS, shape=replace(EVENTS.shape, id=replace(EVENTS.id, name=name)))
        other = Desk(desk.folder, desk.spark)
        other.land(spec, [(1, name, 10)])
        return other.land(spec, [(1, name, 10), (2, name, 20)]).rows

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(land, ("a", "b"))) == [RowCounts(read=2, inserted=1, unchanged=1)] * 2


def test_looking_starts_no_spark(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 10)])

    def never() -> SparkSession:
        raise AssertionError("Spark was asked for")

    lake = DeltaLake(str(desk.folder), never)
    assert lake.inspect(EVENTS, None) is not None
    assert lake.find(EVENTS, "batch1") is not None
    assert lake.columns(EVENTS) == (("id", "bigint"), ("note", "string"), ("at", "bigint"))
    assert lake.inspect(replace(EVENTS, shape=replace(EVENTS.shape, id=replace(EVENTS.id, name="none"))), None) is None
