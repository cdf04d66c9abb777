"""A repair takes out of the copy what is gone from the source, where deletes are followed, and as much as may go."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.errors import Refused
from incremental_assets.core.model.deletes import Then
from incremental_assets.core.planning.report import RowCounts
from tests.core.repairs import FOLLOWED, SETTLED, check, drift, equal, repair, settled, verified
from tests.scenario import ORDERS, orders

pytestmark = pytest.mark.usefixtures("few")


def test_what_is_gone_is_deleted_where_deletes_are_followed_and_though_its_turn_has_not_come() -> None:
    spec = orders(deletes=replace(FOLLOWED, every=timedelta(days=30)))
    world = settled(spec)
    drift(world)
    world.database.delete(ORDERS, {"id": 5})
    check(world, spec)
    done = repair(world, spec)
    assert done.report.rows == RowCounts(read=3, inserted=1, updated=1, deleted=1)
    assert equal(world)


def test_rows_that_are_gone_alone_are_deleted_too() -> None:
    spec = orders(deletes=FOLLOWED)
    world = settled(spec)
    world.database.delete(ORDERS, {"id": 5})
    assert check(world, spec) == 1
    done = repair(world, spec)
    assert done.report.rows == RowCounts(read=1, deleted=1)
    assert equal(world)
    assert verified(world) == (SETTLED, 0)


def test_a_row_that_is_gone_is_marked_where_that_is_wanted() -> None:
    spec = orders(deletes=replace(FOLLOWED, then=Then.MARK))
    world = settled(spec)
    world.database.delete(ORDERS, {"id": 5})
    check(world, spec)
    assert repair(world, spec).report.rows.deleted == 1
    assert len(world.rows(ORDERS)) == 10


def test_more_than_may_go_is_refused_and_nothing_is_touched() -> None:
    spec = orders(deletes=replace(FOLLOWED, max_fraction=0.2))
    world = settled(spec)
    for number in (1, 2, 3):
        world.database.delete(ORDERS, {"id": number})
    check(world, spec)
    rows = world.rows(ORDERS)
    with pytest.raises(Refused, match="3 rows of the 10 in the copy are gone from the source"):
        repair(world, spec)
    assert world.rows(ORDERS) == rows


def test_a_row_that_became_one_that_cannot_land_leaves_the_copy() -> None:
    spec = orders()
    world = settled(spec)
    world.database.update(ORDERS, {"id": 4}, status="unfit")
    assert check(world, spec) == 1
    done = repair(world, spec)
    assert (done.report.rows.quarantined, done.report.rows.deleted) == (1, 1)
    assert 4 not in [row["id"] for row in world.rows(ORDERS)]
    assert verified(world)[1] == 0
