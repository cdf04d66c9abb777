"""Do the statistics of files still cover what those before them told?"""

from __future__ import annotations

import json

import pytest

from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.narrowed import narrowed

Told = dict[str, object]


def state(kind: str, *files: Told, vector: bool = False) -> LogState:
    field = {"name": "at", "type": kind, "metadata": {"delta.columnMapping.physicalName": "col-1"}}
    marked = {"deletionVector": {"cardinality": 1}} if vector else {}
    adds = {f"{len(files)}-{place}": {"stats": json.dumps(each), **marked} for place, each in enumerate(files)}
    return LogState(1, metadata={"schemaString": json.dumps({"fields": [field]})}, files=adds)


def ends(low: object, high: object, nulls: int = 0, rows: int = 9) -> Told:
    return {
        "numRecords": rows,
        "minValues": {"col-1": low},
        "maxValues": {"col-1": high},
        "nullCount": {"col-1": nulls},
    }


@pytest.mark.parametrize(
    ("kind", "after", "hides"),
    [
        ("long", [ends(1, 90)], False),
        ("long", [ends(1, 40), ends(41, 95), ends(60, 70)], False),
        ("long", [ends(2, 90)], True),
        ("long", [ends(1, 89)], True),
        ("long", [ends(1, 90, nulls=0)], False),
        ("long", [ends(2, 90), {}], False),
        ("long", [{"numRecords": 18}], False),
        ("string", [ends("b", "c")], False),
    ],
)
def test_two_files_that_become_others_are_told_of_as_far_as_they_reached(
    kind: str, after: list[Told], hides: bool
) -> None:
    before = [ends("a", "b"), ends("b", "d")] if kind == "string" else [ends(1, 50), ends(40, 90), ends(3, 4)]
    assert narrowed(state(kind, *before), state(kind, *after)) is hides


def test_rows_without_a_value_are_told_of_and_a_file_of_them_alone_has_no_ends() -> None:
    empty = {"numRecords": 4, "nullCount": {"col-1": 4}}
    before = state("long", ends(1, 50, nulls=2), empty, ends(40, 90))
    assert not narrowed(before, state("long", ends(1, 90, nulls=6)))
    assert narrowed(before, state("long", ends(1, 90, nulls=5)))


def test_moments_may_be_cut_to_their_millisecond_and_dates_may_not() -> None:
    before = state("timestamp", ends("2024-01-01T00:00:00.001Z", "2024-01-01T10:00:00.002900Z"))
    assert not narrowed(
        before, state("timestamp", ends("2024-01-01T00:00:00.001900+00:00", "2024-01-01T10:00:00.002Z"))
    )
    assert narrowed(before, state("timestamp", ends("2024-01-01T00:00:00.001Z", "2024-01-01T09:00:00.002Z")))
    days = state("date", ends("2024-01-01", "2024-01-31"), ends("2024-01-01", "2024-01-31"))
    assert not narrowed(days, state("date", ends("2024-01-01", "2024-01-31")))
    assert narrowed(days, state("date", ends("2024-01-01", "2024-01-30")))


def test_ends_of_rows_that_are_gone_need_not_be_told_of() -> None:
    wide, narrow = ends(1, 90), ends(5, 80)
    assert not narrowed(state("long", wide, wide, vector=True), state("long", narrow))
    assert not narrowed(state("long", wide, {**wide, "tightBounds": False}), state("long", narrow))
    assert narrowed(state("long", wide, wide), state("long", narrow))
