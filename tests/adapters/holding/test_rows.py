"""What a task puts into a quarantine, and what it says of it later: without Spark, and read by delta-rs."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta.holding import rejected
from incremental_assets.adapters.delta.holding.texts import as_texts, contents, refused, texts_of
from incremental_assets.adapters.delta.log.not_direct import NotDirect
from incremental_assets.core.errors import CommitMissing
from tests.adapters.holding.offline import Counter


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


def test_a_float_or_what_is_no_object_of_texts_is_left_to_spark() -> None:
    assert refused(["bigint", "string"]) == ""
    assert "float" in refused(["bigint", "double"])
    assert "not known" in refused(["array<int>"])
    for raw in ('{"a": 1}', "[]", "{", '{"a": "\\ud800"}'):
        with pytest.raises(NotDirect):
            texts_of(pa.chunked_array([[raw]]), ["a"])
    told = texts_of(pa.chunked_array([pa.array([json.dumps({"a": "x", "b": None}), None])]), ["a", "b"])
    assert [each.to_pylist() for each in told] == [["x", None], [None, None]]


def test_a_year_of_five_digits_is_left_to_spark() -> None:
    days = pa.chunked_array([pa.array([2_932_897], pa.int32()).cast(pa.date32())])
    with pytest.raises(NotDirect, match="no year of four digits"):
        as_texts(days, "date")


def test_null_and_the_word_for_it_have_different_contents() -> None:
    one, other = (pa.chunked_array([pa.array([each], pa.string())]) for each in (None, "null"))
    assert contents([one]) != contents([other])
    assert contents([one, other]) != contents([other, one])
