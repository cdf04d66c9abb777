"""What a task puts into a quarantine, and what it says of it later: without Spark, and read by delta-rs."""

from __future__ import annotations

import json
from collections import Counter as Counted
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta.quarantine import keep_task, rejected
from incremental_assets.adapters.delta.quarantine.texts import as_texts, contents, refused, texts_of
from incremental_assets.adapters.delta.tasks.files import stored_rows
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import REJECT_COLUMN, REJECT_REASON, RESOLVED_AT
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.table import Strategy
from tests.adapters.quarantine.offline import ORDERS, Counter


@pytest.fixture
def counter(tmp_path: Path) -> Counter:
    found = Counter(tmp_path)
    found.copy()
    return found


def test_what_is_read_again_is_kept_once_and_what_is_there_more_often_as_often(counter: Counter) -> None:
    counter.keep(1, [(1, None, 10), (2, None, 20), (3, "fine", 30)])
    counter.keep(2, [(1, None, 10), (1, None, 10), (2, None, 21)])
    assert [row[:3] for row in counter.rows()] == [("1", "10", 1), ("1", "10", 2), ("2", "20", 1), ("2", "21", 2)]


def test_a_run_that_slept_past_its_lease_adds_nothing(counter: Counter) -> None:
    counter.keep(2, [(1, None, 10)])
    before = counter.files()
    with pytest.raises(CommitMissing, match="this run was too late"):
        counter.keep(1, [(2, None, 20)])
    assert [row[:3] for row in counter.rows()] == [("1", "10", 2)]
    assert counter.files() == before


def test_a_batch_that_has_all_of_its_rows_in_quarantine_takes_its_sequence_all_the_same(counter: Counter) -> None:
    counter.keep(1, [(1, None, 10)])
    counter.keep(2, [(1, None, 10)])
    with pytest.raises(CommitMissing):
        counter.keep(2, [(9, None, 90)])
    assert [row[:3] for row in counter.rows()] == [("1", "10", 1)]


def test_a_later_version_resolves_what_was_held_and_the_same_one_does_not(counter: Counter) -> None:
    counter.keep(1, [(1, None, 10), (2, None, 20), (3, None, 30), (4, None, 40)])
    batch = [(1, "mended", 11), (2, None, 20), (3, None, 31)]
    counter.keep(2, batch)
    counter.settle(2, batch)
    assert counter.rows() == [
        ("1", "10", 1, "superseded", True),
        ("2", "20", 1, None, False),
        ("3", "30", 1, "superseded", True),
        ("3", "31", 2, None, False),
        ("4", "40", 1, None, False),
    ]
    # What was resolved and comes again is held again.
    counter.keep(3, [(1, None, 10)])
    assert [row[:4] for row in counter.rows()][:2] == [("1", "10", 1, "superseded"), ("1", "10", 3, None)]


def test_rows_are_kept_in_pieces_as_they_are_at_once(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rejected, "_AT_ONCE", 7)
    counter.keep(1, [(number, None if number % 3 else "fine", number) for number in range(100)])
    assert [int(row[0]) for row in counter.rows()] == sorted((number for number in range(100) if number % 3), key=str)


@dataclass
class Work:
    """What a task has done: rows hashed, and values decoded of the quarantine's files, by their columns; files that were opened."""

    hashed: int = 0
    decoded: Counted[str] = field(default_factory=Counted)
    opened: int = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    found = Work()
    columns, row_groups = stored_rows.RowGroup.columns, stored_rows.row_groups

    def hashed(texts: Sequence[pa.ChunkedArray]) -> list[str]:
        found.hashed += len(texts[0])
        return contents(texts)

    def decoded(group: stored_rows.RowGroup, asked: Sequence[Stored]) -> list[pa.ChunkedArray]:
        found.decoded.update({each.name: group.rows for each in asked})
        return columns(group, asked)

    def opened(*asked: Any) -> Any:
        found.opened += 1
        return row_groups(*asked)

    monkeypatch.setattr(keep_task, "contents", hashed)
    monkeypatch.setattr(stored_rows.RowGroup, "columns", decoded)
    monkeypatch.setattr(keep_task, "row_groups", opened)
    return found


@pytest.mark.acceptance
def test_to_keep_a_few_rows_only_those_with_their_keys_are_hashed_however_many_are_held(
    counter: Counter, work: Work
) -> None:
    counter.keep(1, [(number, None, number) for number in range(10_000, 20_000)])
    assert work == Work(hashed=10_000)
    # Three are there just as they are, one has another cursor, one is new; the file may have each of these keys.
    work.hashed = 0
    counter.keep(2, [(15_000, None, 15_000), (15_001, None, 15_001), (15_002, None, 15_002), (15_003, None, 1)])
    assert (work.hashed, work.opened) == (4 + 3, 1)
    counter.keep(3, [(15_004, None, 15_005)])
    assert (work.hashed, work.opened) == (7 + 1, 2)
    # Key and cursor twice to find them and once to hash them, all else once.
    others = ("note", REJECT_REASON, REJECT_COLUMN, RESOLVED_AT)
    assert work.decoded == dict.fromkeys(("id", "at"), 30_000) | dict.fromkeys(others, 10_000)
    assert [row[:3] for row in counter.rows() if row[2] > 1] == [("15003", "1", 2), ("15004", "15005", 3)]


def test_a_file_that_cannot_have_one_of_the_keys_or_has_only_rows_that_were_resolved_is_not_opened(
    counter: Counter, work: Work
) -> None:
    counter.keep(1, [(10, None, 10), (12, None, 12)])
    counter.keep(2, [(20, None, 20), (29, None, 29)])
    counter.settle(3, [(10, "fine", 11), (12, "fine", 13)])
    work.opened = 0
    counter.keep(4, [(11, None, 11), (13, None, 20), (30, None, 30)])
    assert work.opened == 0
    counter.keep(5, [(11, None, 11), (29, None, 25)])
    assert work.opened == 2


def test_rows_without_a_key_are_told_apart_by_all_that_they_have(tmp_path: Path, work: Work) -> None:
    counter = Counter(tmp_path, replace(ORDERS, key=(), key_enforced=False, strategy=Strategy.APPEND))
    counter.copy()
    counter.keep(1, [(number, None, 7) for number in range(5_000)])
    work.hashed = 0
    counter.keep(2, [(4_000, None, 7), (4_000, None, 7), (5_000, None, 7)])
    assert work.hashed == 3 + 1
    assert [row[:3] for row in counter.rows() if row[2] > 1] == [("4000", "7", 2), ("5000", "7", 2)]


def test_a_float_or_what_is_no_object_of_texts_is_left_to_spark() -> None:
    assert refused(["bigint", "string"]) == ""
    assert "float" in refused(["bigint", "double"])
    assert "not known" in refused(["array<int>"])
    for raw in ('{"a": 1}', "[]", "{", '{"a": "\\ud800"}'):
        with pytest.raises(NotByTasks):
            texts_of(pa.chunked_array([[raw]]), ["a"])
    told = texts_of(pa.chunked_array([pa.array([json.dumps({"a": "x", "b": None}), None])]), ["a", "b"])
    assert [each.to_pylist() for each in told] == [["x", None], [None, None]]


def test_a_year_of_five_digits_is_left_to_spark() -> None:
    days = pa.chunked_array([pa.array([2_932_897], pa.int32()).cast(pa.date32())])
    with pytest.raises(NotByTasks, match="no year of four digits"):
        as_texts(days, "date")


def test_null_and_the_word_for_it_have_different_contents() -> None:
    one, other = (pa.chunked_array([pa.array([each], pa.string())]) for each in (None, "null"))
    assert contents([one]) != contents([other])
    assert contents([one, other]) != contents([other, one])
