"""What becomes of a row that cannot land, or not yet: without a cursor, without a key, held back, from the future?"""

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.errors import CursorIsNull
from incremental_assets.core.model.table import FuturePolicy, NullPolicy, Strategy
from incremental_assets.core.planning.report import RowCounts, Status
from tests.core.stories import APPEND, UPSERT, assert_equal, opened
from tests.fakes import World
from tests.scenario import ORDERS, order, orders

# --- without a cursor ------------------------------------------------------------------------------


def with_a_null() -> World:
    world = opened()
    world.database.insert(ORDERS, id=90, customer="nobody", status="new", updated_at=None)
    return world


def test_rows_without_a_cursor_stop_a_sync_that_was_not_told_what_to_do_with_them() -> None:
    world = with_a_null()
    with pytest.raises(CursorIsNull, match="1 row has no 'updated_at'"):
        world.sync(UPSERT)
    assert world.lake.tables == {}
    assert world.stage.batches == {}
    assert world.checkpoints.kinds(ORDERS) == ["intent", "abandoned", "failed"]
    intent, _, failed = world.checkpoints.memory.events
    assert (failed.seq, failed.batch_id, failed.app_id) == (intent.seq, intent.batch_id, intent.app_id)


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
def test_rows_without_a_cursor_are_read_whenever_they_are_written_and_land_once(strategy: Strategy) -> None:
    spec = orders(strategy, nulls=NullPolicy.ALWAYS)
    world = with_a_null()
    assert world.sync(spec).rows.inserted == 3
    world.database.tick(60)
    assert world.sync(spec).status is Status.IDLE
    order(world.database, "alan", world.database.stamp())
    assert world.sync(spec).rows == RowCounts(read=1, inserted=1)
    world.database.update(ORDERS, {"id": 90}, status="paid")
    assert world.sync(spec).rows.read == 1
    paid = [row["status"] for row in world.rows(ORDERS) if row["id"] == 90]
    assert paid == (["new", "paid"] if strategy is Strategy.APPEND else ["paid"])


def test_rows_without_a_cursor_are_left_where_they_are_if_that_is_what_was_said() -> None:
    world = with_a_null()
    assert world.sync(orders(nulls=NullPolicy.SKIP)).rows.read == 2


# --- before their time -----------------------------------------------------------------------------


def test_rows_that_were_held_back_land_although_nobody_touched_them_since() -> None:
    spec = orders(holdback=timedelta(minutes=15))
    world = opened()
    assert world.sync(spec).rows.read == 0
    world.database.tick(3600)
    assert world.sync(spec).rows.inserted == 2
    assert world.sync(spec).status is Status.IDLE
    assert_equal(world)


def test_a_row_that_waits_for_its_time_lands_when_the_clock_has_passed_it() -> None:
    spec = orders(future=FuturePolicy.WAIT)
    world = opened()
    order(world.database, "alan", "2024-01-29T12:00:00Z", "preorder")
    assert world.sync(spec).rows.read == 2
    world.database.tick(3600)
    assert world.sync(spec).status is Status.IDLE
    world.database.tick(2 * 3600)
    assert world.sync(spec).rows.inserted == 1
    assert_equal(world)


@pytest.mark.parametrize("policy", [FuturePolicy.WAIT, FuturePolicy.QUARANTINE])
def test_rows_from_the_future_land_one_by_one_as_their_time_comes_and_cost_nothing_until_then(
    policy: FuturePolicy,
) -> None:
    spec, world = orders(future=policy), opened()
    order(world.database, "alan", "2024-01-29T12:00:00Z")
    order(world.database, "mary", "2024-01-29T14:30:00Z")
    order(world.database, "eve", "2999-12-31T00:00:00Z")
    world.sync(spec)
    landed = []
    for _ in range(20):
        world.database.tick(1800)
        report = world.sync(spec)
        landed.append(report.rows.inserted if report.status is Status.LANDED else None)
    assert [each for each in landed if each is not None] == [1, 1]
    assert sorted(row["customer"] for row in world.rows(ORDERS)) == ["ada", "alan", "grace", "mary"]


def test_rows_from_the_future_go_to_quarantine_if_that_is_what_was_said() -> None:
    world = opened()
    order(world.database, "alan", "2999-12-31T00:00:00Z")
    assert world.sync(orders(future=FuturePolicy.QUARANTINE)).rows == RowCounts(read=3, inserted=2, quarantined=1)


def test_a_row_that_moves_into_the_future_leaves_an_upsert_copy_and_lands_again_when_its_time_has_come() -> None:
    world, spec = opened(), orders(future=FuturePolicy.QUARANTINE)
    world.sync(spec)
    later = world.database.stamp(at=world.database.clock + timedelta(hours=1))
    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=later)
    assert world.sync(spec).rows.deleted == 1
    assert "ada" not in {row["customer"] for row in world.rows(ORDERS)}

    world.database.tick(2 * 3600)
    assert world.sync(spec).rows.inserted == 1
    assert_equal(world)


# --- without a key, or unfit otherwise -------------------------------------------------------------


def test_a_row_without_a_key_goes_to_quarantine_once_and_the_others_land() -> None:
    spec = replace(UPSERT, key=("customer",), key_enforced=False)
    world = opened()
    world.database.insert(ORDERS, id=90, customer=None, status="new", updated_at=world.database.stamp())
    assert world.sync(spec).rows == RowCounts(read=3, inserted=2, quarantined=1)
    order(world.database, "alan", world.database.stamp())
    world.sync(spec)
    assert [row["id"] for row in world.lake.quarantine[ORDERS]] == [90]
    assert len(world.rows(ORDERS)) == 3


def test_a_row_that_can_no_longer_land_leaves_an_upsert_copy_and_lands_again_when_it_can() -> None:
    world = opened()
    world.sync(UPSERT)
    world.database.update(ORDERS, {"customer": "ada"}, status="unfit", updated_at=world.database.stamp())
    assert world.sync(UPSERT).rows == RowCounts(read=1, deleted=1, quarantined=1)
    assert "ada" not in {row["customer"] for row in world.rows(ORDERS)}
    assert [row["status"] for row in world.lake.quarantine[ORDERS]] == ["unfit"]

    world.database.update(ORDERS, {"customer": "ada"}, status="paid", updated_at=world.database.stamp())
    assert world.sync(UPSERT).rows.inserted == 1
    assert_equal(world)


def test_an_append_copy_keeps_the_versions_before_one_that_cannot_land() -> None:
    world = opened()
    world.sync(APPEND)
    before = world.rows(ORDERS)
    world.database.update(ORDERS, {"customer": "ada"}, status="unfit", updated_at=world.database.stamp())
    assert world.sync(APPEND).rows.quarantined == 1
    assert world.rows(ORDERS) == before
