"""A target is rewritten only where most of it is replaced, and where that can be counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.landing.overlap import Overlap
from incremental_assets.core.landing.rewrite import lands_whole, replaces_most
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.planning.plan import Mode
from tests.core.test_overlap import SPEC, plan_after

UPSERT = replace(SPEC, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)


def test_a_batch_that_nothing_in_the_target_can_equal_lands_whole() -> None:
    assert lands_whole(plan_after(10, UPSERT), None)


def test_a_row_that_may_be_there_already_is_left_where_it_is() -> None:
    assert not lands_whole(plan_after(10, UPSERT), Overlap(CursorValue(CursorType.INTEGER, "10")))
    assert not lands_whole(plan_after(10, UPSERT), Overlap(None))


def test_after_a_reset_a_row_may_take_the_place_of_several() -> None:
    going_on = plan_after(10, UPSERT)
    assert going_on.previous is not None
    assert not lands_whole(replace(going_on, previous=replace(going_on.previous, clock=None)), None)
    assert not lands_whole(replace(going_on, previous=None), None)


def test_where_a_key_may_repeat_only_delta_can_count_what_was_replaced() -> None:
    assert not lands_whole(plan_after(10, replace(UPSERT, key_enforced=False)), None)


def test_an_append_replaces_nothing_and_an_overwrite_everything() -> None:
    assert not lands_whole(plan_after(10, replace(UPSERT, strategy=Strategy.APPEND)), None)
    assert not lands_whole(plan_after(10, UPSERT, Mode.FULL_REFRESH), None)


@pytest.mark.parametrize(
    ("rows", "landable", "most"),
    [
        (10, 4, False),
        (10, 5, True),
        (11, 5, False),
        (2, 1, True),
        (3, 1, False),
        (10, 30, True),
        (0, 3, False),
        (1, 0, False),
    ],
)
def test_half_of_the_target_is_most_of_it(rows: int, landable: int, most: bool) -> None:
    assert replaces_most(Batch("b", landable, "0"), rows) is most


def test_rows_that_do_not_land_do_not_count() -> None:
    assert not replaces_most(Batch("b", 5, "0", rejected=1), 10)
    assert not replaces_most(Batch("b", 5, "0", duplicates=1), 10)
