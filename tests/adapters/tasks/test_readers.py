"""Copies that any reader can read: files are written anew where others would mark rows, and no reader is asked to know more than files and columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from deltalake import DeltaTable

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache, vectors
from incremental_assets.adapters.delta.log.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.files.marked_file import removed
from incremental_assets.adapters.delta.tasks.files.unit import Replacing
from incremental_assets.adapters.delta.tasks.matching import sharing
from incremental_assets.adapters.delta.tasks.restore import restore
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import CommitIds, Mode
from incremental_assets.core.planning.report import RowCounts
from tests.adapters.batches import Desk, Row, table
from tests.adapters.tasks.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "id bigint, note string, at bigint"
MARKED = table(COLUMNS)
ORDERS = replace(MARKED, readers=Readers.ANY)
EVENTS = table(COLUMNS, Strategy.APPEND, key=())
COUNTRIES = table(COLUMNS, Strategy.FULL_REFRESH, cursor="")
FIRST: list[Row] = [(number, "a", number) for number in range(1, 21)]


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path) -> Desk:
    return Desk(tmp_path / "lake", spark)


def state(desk: Desk, spec: TableSpec) -> LogState:
    return log_cache.at(desk.path(spec), DeltaTable(desk.path(spec)).version())


def by_pandas(desk: Desk, spec: TableSpec) -> list[Row]:
    """As the reader of delta-rs tells it that knows neither vectors nor mapped columns."""
    frame = DeltaTable(desk.path(spec)).to_pandas()[list(spec.shape.names)]
    return sorted((tuple(row) for row in frame.itertuples(index=False)), key=str)


def writers(desk: Desk, spec: TableSpec) -> list[str]:
    told = reversed(DeltaTable(desk.path(spec)).history())
    return ["ours" if each["engineInfo"] == ENGINE else "Spark's" for each in told]


def test_an_upsert_for_any_reader_replaces_adds_and_takes_away_and_pandas_reads_it(desk: Desk) -> None:
    desk.land(ORDERS, FIRST)
    second = desk.land(ORDERS, [(1, "b", 30), (2, "a", 2), (99, "b", 31)], late=[99])
    assert second.rows == RowCounts(read=3, inserted=1, updated=1, unchanged=1, late=1)
    third = desk.land(ORDERS, [(3, "gone", 40), (4, "bad", 41), (5, "b", 42), (6, "a", 6)], gone=["gone"], bad=["bad"])
    assert third.rows == RowCounts(read=4, inserted=0, updated=1, deleted=2, unchanged=1, quarantined=1)
    fourth = desk.land(ORDERS, [(99, "gone", 50)], gone=["gone"])
    assert fourth.rows == RowCounts(read=1, deleted=1)
    changed: dict[int, Row] = {1: (1, "b", 30), 5: (5, "b", 42)}
    expected = sorted((changed.get(key, (key, "a", key)) for key in range(1, 21) if key not in (3, 4)), key=str)
    assert desk.rows(ORDERS) == by_pandas(desk, ORDERS) == expected
    assert writers(desk, ORDERS) == ["ours"] * 5
    found = state(desk, ORDERS)
    assert not vectors.asked_for(found)
    assert not any(add.get("deletionVector") for add in found.files.values())


def test_a_copy_that_only_grows_and_one_that_is_overwritten_ask_no_reader_for_vectors(desk: Desk) -> None:
    desk.land(EVENTS, [(1, "a", 1), (2, "a", 2)])
    desk.land(EVENTS, [(3, "a", 3)])
    assert by_pandas(desk, EVENTS) == [(1, "a", 1), (2, "a", 2), (3, "a", 3)]
    assert not vectors.asked_for(state(desk, EVENTS))
    other = Desk(desk.folder / "other", desk.spark)
    other.land(COUNTRIES, [(1, "a", 1)], mode=Mode.SYNC)
    other.land(COUNTRIES, [(2, "b", 2)])
    assert by_pandas(other, COUNTRIES) == [(2, "b", 2)]
    assert not vectors.asked_for(state(other, COUNTRIES))


def test_rows_that_a_file_marks_as_gone_stay_gone_where_it_is_written_anew(tmp_path: Path) -> None:
    copy = Table(tmp_path, "id bigint, note string")
    copy.land(Replacing((0,), compares=False), [(number, "a") for number in range(7)])
    copy.land(Replacing((0,), compares=False, leaves=True), [(1, "b")], gone=[(2, ""), (6, "")])
    copy.marks = False
    done = copy.land(Replacing((0,), compares=False, leaves=True), [(3, "c")], gone=[(4, "")])
    assert copy.rows() == [(0, "a"), (1, "b"), (3, "c"), (5, "a")]
    assert (done.written, done.marked, done.left) == (1, 2, 1)
    assert not any(add.get("deletionVector") for add in copy.state.files.values())
    emptied = copy.land(Replacing((0,), compares=False, leaves=True), [], gone=[(0, ""), (5, "")])
    assert copy.rows() == [(1, "b"), (3, "c")]
    assert not any("add" in each for each in emptied.actions), "of a file without a row nothing is left"


def test_a_rollback_behind_the_commit_that_gave_vectors_up_asks_readers_for_them_again(tmp_path: Path) -> None:
    copy = Table(tmp_path, "id bigint, note string")
    copy.land(Replacing((0,), compares=False), [(1, "a"), (2, "a")])
    copy.land(Replacing((0,), compares=False), [(1, "b")])
    marked, path = copy.version, str(copy.path)
    assert any(add.get("deletionVector") for add in copy.state.files.values())
    assert vectors.given_up(copy.state, Readers.VECTORS) == []
    said = vectors.given_up(copy.state, Readers.ANY)
    assert put_if_absent(path, marked + 1, [*said, *({"remove": removed(add, 1)} for add in copy.state.files.values())])
    assert not vectors.asked_for(copy.state)
    assert not vectors.marks_rows(copy.state.properties)

    note = CommitMetadata.of_maintenance(CommitIds("test", 9, "a-batch"), "a-run", None, copy.version)
    restore(ORDERS, path, marked, note)

    assert vectors.asked_for(copy.state)
    assert vectors.marks_rows(copy.state.properties)
    assert copy.rows() == [(1, "b"), (2, "a")]


def test_who_has_switched_vectors_off_is_not_overruled_and_no_marked_row_comes_back(desk: Desk) -> None:
    desk.land(MARKED, FIRST)
    desk.land(MARKED, [(1, "b", 30), (2, "b", 31)])
    desk.spark.sql(f"ALTER TABLE delta.`{desk.path(MARKED)}` SET TBLPROPERTIES ('{vectors.ENABLED}' = 'false')")
    done = desk.land(MARKED, [(3, "b", 32)])
    assert done.rows == RowCounts(read=1, updated=1)
    found = state(desk, MARKED)
    assert found.properties[vectors.ENABLED] == "false"
    assert not any(add.get("deletionVector") for add in found.files.values()), "its file was written anew"
    expected = sorted(
        (({1: (1, "b", 30), 2: (2, "b", 31), 3: (3, "b", 32)}).get(key, (key, "a", key)) for key in range(1, 21)),
        key=str,
    )
    assert desk.rows(MARKED) == expected
    assert writers(desk, MARKED)[-1] == "ours"


@pytest.mark.acceptance
def test_a_copy_with_vectors_is_told_and_read_anew_without_and_goes_back_with_them(desk: Desk) -> None:
    desk.land(MARKED, FIRST)
    desk.land(MARKED, [(1, "b", 30)])
    before = DeltaTable(desk.path(MARKED)).version()
    told = desk.land(ORDERS, [(2, "b", 31)]).warnings
    assert [text for text in told if "asks readers for deletion vectors" in text]
    rows = desk.rows(ORDERS)
    desk.land(ORDERS, rows, mode=Mode.FULL_REFRESH)
    assert by_pandas(desk, ORDERS) == rows
    assert not desk.land(ORDERS, [(3, "b", 32)]).warnings
    assert (3, "b", 32) in by_pandas(desk, ORDERS)
    desk.spark.sql(f"RESTORE TABLE delta.`{desk.path(ORDERS)}` TO VERSION AS OF {before}")
    assert sorted(desk.rows(ORDERS), key=str) == sorted([(1, "b", 30), *FIRST[1:]], key=str)


@pytest.mark.acceptance
def test_a_batch_that_tasks_share_leaves_no_vectors_either(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LEAST_ROWS", 1)
    monkeypatch.setattr(sharing, "SHARE_ROWS", 1)
    desk.land(ORDERS, [(number, "a", number) for number in range(1, 201)])
    rows: list[Row] = [(number, "b" if number % 2 else "a", number) for number in range(1, 101)]
    done = desk.land(ORDERS, [*rows, (150, "gone", 150), (300, "b", 300)], gone=["gone"])
    assert done.rows == RowCounts(read=102, inserted=1, updated=50, deleted=1, unchanged=50)
    expected = [
        (number, "b" if number % 2 and number < 101 else "a", number) for number in range(1, 201) if number != 150
    ]
    assert desk.rows(ORDERS) == by_pandas(desk, ORDERS) == sorted([*expected, (300, "b", 300)], key=str)
    assert writers(desk, ORDERS) == ["ours"] * 3
