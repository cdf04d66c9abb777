"""Values that are looked up in a table or by halves are found as by their hashes: whatever order a column has, and however often a value is in it."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from incremental_assets.adapters.delta.tasks.files import wanted_values
from incremental_assets.adapters.delta.tasks.files.wanted_values import WantedValues, ascending, hashed

KINDS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC"))
STEPS = st.lists(st.sampled_from([0, 0, 1, 1, 1, 2, 9, -3, -40]), max_size=40)
"""A column that mostly ascends, with values that are there again."""


def column(parts: list[list[int | None]], kind: pa.DataType) -> pa.ChunkedArray:
    width = pa.int64() if pa.types.is_timestamp(kind) else pa.int32() if pa.types.is_date(kind) else kind
    return pa.chunked_array([pa.array(part, width).cast(kind) for part in parts], kind)


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that columns of a few rows have several runs that ascend."""
    monkeypatch.setattr(wanted_values, "_RUN_ROWS", 4)


@pytest.mark.acceptance
@pytest.mark.parametrize("close", [0, 8])
@settings(
    deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(-60, 60), STEPS), max_size=3),
    st.lists(st.integers(-70, 70), unique=True, max_size=30),
    st.booleans(),
)
def test_they_are_found_as_by_their_hashes(
    close: int, kind: pa.DataType, parts: list[tuple[int, list[int]]], values: list[int], null: bool
) -> None:
    held: list[list[int | None]] = [
        [min(max(each, -128), 127) for each in accumulate(steps, initial=first)] for first, steps in parts
    ]
    if null and held:
        held[-1].append(None)
    there, wanted = column(held, kind), column([[*values, None] if null else [*values]], kind).chunk(0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(wanted_values, "_CLOSE", close)  # 0: by halves, where the column ascends
        found, expected = WantedValues(wanted).found(there), hashed(there, wanted)
    assert [each.tolist() for each in found] == [each.tolist() for each in expected]


@pytest.mark.parametrize(
    ("numbers", "runs"),
    [
        ([], [(0, 0)]),
        ([1, 1, 2, 5], [(0, 4)]),
        ([1, 2, 3, 1, 2, 3, 4, 5], [(0, 3), (3, 8)]),
        ([5, 4, 3, 2], None),
    ],
)
def test_the_runs_of_a_column(numbers: list[int], runs: Any) -> None:
    assert ascending(np.array(numbers, dtype=np.int64)) == runs


def test_a_column_that_ascends_is_not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wanted_values, "hashed", lambda *_: pytest.fail("it was hashed"))
    rows, places = WantedValues(pa.array([70, 3, 999])).found(column([[1, 3, 3, 8], [60, 70, 1, 3]], pa.int64()))
    assert (rows.tolist(), places.tolist()) == ([1, 2, 5, 7], [1, 1, 0, 1])


def test_values_that_lie_close_together_are_found_in_a_column_without_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wanted_values, "hashed", lambda *_: pytest.fail("it was hashed"))
    rows, places = WantedValues(pa.array([7, 3, 12])).found(
        column([[12, -(2**63), 8], [3, 2**63 - 1, 7, 3]], pa.int64())
    )
    assert (rows.tolist(), places.tolist()) == ([0, 3, 5, 6], [2, 1, 0, 1])


def test_values_that_lie_apart_take_no_table() -> None:
    values = WantedValues(pa.array([-(2**63), 2**63 - 1, 5]))
    rows, places = values.found(column([[5, 6, 2**63 - 1]], pa.int64()))
    assert (rows.tolist(), places.tolist(), values._table()) == ([0, 2], [2, 1], None)
