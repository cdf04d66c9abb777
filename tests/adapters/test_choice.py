"""How a batch lands is decided once, from the plan, the batch and the target as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.adapters.delta.writers.choice import Found, Way, takes_away, way
from incremental_assets.core.landing.overlap import Overlap
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Mode
from tests.core.test_overlap import SPEC, plan_after

UPSERT = replace(SPEC, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
DECLARED = replace(UPSERT, key_enforced=False)
APPEND = replace(SPEC, strategy=Strategy.APPEND)
WHOLE = replace(SPEC, strategy=Strategy.FULL_REFRESH, cursor=None)

FEW = Batch("b", 4, "0")
MOST = Batch("b", 5, "0")
"""Of ten rows."""
PLACED = Batch("b", 5, "", in_target=True)
EMPTY = Found(landed=False)
TEN = Found(landed=True, movable=10)


@pytest.mark.parametrize(
    ("spec", "batch", "found", "expected"),
    [
        pytest.param(UPSERT, PLACED, EMPTY, Way.PLACE, id="the rows are there"),
        pytest.param(WHOLE, PLACED, EMPTY, Way.PLACE, id="the rows are there, of a table that is read whole"),
        pytest.param(UPSERT, MOST, EMPTY, Way.OVERWRITE, id="an upsert into nothing"),
        pytest.param(APPEND, MOST, EMPTY, Way.OVERWRITE, id="an append to nothing"),
        pytest.param(WHOLE, MOST, EMPTY, Way.OVERWRITE, id="a table that is read whole, for the first time"),
        pytest.param(WHOLE, FEW, TEN, Way.OVERWRITE, id="a table that is read whole, again"),
        pytest.param(APPEND, FEW, TEN, Way.APPEND, id="an append"),
        pytest.param(APPEND, MOST, TEN, Way.APPEND, id="an append, however large"),
        pytest.param(UPSERT, FEW, TEN, Way.REPLACE, id="an upsert"),
        pytest.param(UPSERT, MOST, TEN, Way.REWRITE, id="an upsert of most of the table"),
        pytest.param(UPSERT, MOST, replace(TEN, movable=None), Way.REPLACE, id="whose rows are to stay where they lie"),
        pytest.param(UPSERT, MOST, replace(TEN, overlap=Overlap(None)), Way.REPLACE, id="some of which may be there"),
        pytest.param(DECLARED, MOST, TEN, Way.REPLACE, id="whose key may repeat"),
        pytest.param(UPSERT, FEW, replace(TEN, leaving=1), Way.MERGE, id="an upsert that takes a row away"),
        pytest.param(UPSERT, MOST, replace(TEN, leaving=1), Way.MERGE, id="as large as it may be"),
        pytest.param(DECLARED, FEW, replace(TEN, leaving=1), Way.MERGE, id="by a key that may repeat"),
    ],
)
def test_a_batch_lands_in_one_way(spec: TableSpec, batch: Batch, found: Found, expected: Way) -> None:
    assert way(plan_after(10, spec), batch, found) is expected


@pytest.mark.parametrize("spec", [UPSERT, APPEND, WHOLE], ids=lambda spec: str(spec.strategy))
def test_a_full_refresh_leaves_nothing_of_the_target(spec: TableSpec) -> None:
    assert way(plan_after(10, spec, Mode.FULL_REFRESH), FEW, TEN) is Way.OVERWRITE


@pytest.mark.parametrize(
    ("spec", "leaving", "landed", "expected"),
    [
        pytest.param(UPSERT, {"rejected": 1}, True, True, id="a row of a key can no longer land"),
        pytest.param(UPSERT, {"gone": 1}, True, True, id="a row of a key is gone"),
        pytest.param(UPSERT, {}, True, False, id="every row can land"),
        pytest.param(UPSERT, {"gone": 1}, False, False, id="nothing has landed"),
        pytest.param(APPEND, {"gone": 1}, True, False, id="versions of a key stay"),
        pytest.param(WHOLE, {"gone": 1}, True, False, id="everything goes anyway"),
    ],
)
def test_rows_to_be_taken_away_are_looked_for_only_where_there_may_be_some(
    spec: TableSpec, leaving: dict[str, int], landed: bool, expected: bool
) -> None:
    assert takes_away(plan_after(10, spec), replace(FEW, **leaving), landed=landed) is expected
