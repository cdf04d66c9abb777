"""Does a row land that commits late, in another order than its number or stamp, or while a sync runs?"""

from dataclasses import replace

import pytest

from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.report import Status
from tests.core.stories import APPEND, UPSERT, assert_equal, opened
from tests.fakes import World
from tests.scenario import ORDERS, order, orders, shop

BY_ID = orders(Strategy.APPEND, cursor="id")


def test_numbers_that_commit_out_of_order_all_land() -> None:
    world = World(shop())
    slow, quick = world.database.begin(), world.database.begin()
    order(slow, "slow", slow.stamp())
    order(quick, "quick", quick.stamp())
    quick.commit()
    assert world.sync(BY_ID).new_watermark is None, "number 1 may still come"
    slow.commit()
    world.database.tick(60)
    late = world.sync(BY_ID)
    assert (late.rows.inserted, late.rows.late, str(late.new_watermark)) == (1, 1, "3")
    assert_equal(world)


def test_numbers_that_a_crash_gives_out_again_land_although_they_had_been_read() -> None:
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.database.write_to_disk()
    for name in ("grace", "edsger", "alan"):
        order(world.database, name, world.database.stamp())
    world.database.tick(60)
    assert str(world.sync(BY_ID).new_watermark) == "None"
    world.database.crash()
    world.database.tick(60)
    order(world.database, "barbara", world.database.stamp())
    world.database.tick(60)
    assert str(world.sync(BY_ID).new_watermark) == "None", "2 to 4 may still come again"
    order(world.database, "donald", world.database.stamp())
    world.database.write_to_disk()
    world.database.tick(60)
    last = world.sync(BY_ID)
    assert (last.rows.inserted, str(last.new_watermark)) == (1, "4")
    assert {"barbara", "donald"} <= {row["customer"] for row in world.rows(ORDERS)}


def test_a_row_that_gets_the_highest_number_after_it_has_settled_lands_once_and_then_the_table_is_idle() -> None:
    by_batch = replace(BY_ID, shape=replace(BY_ID.shape, primary_key=()), key=(), key_enforced=False)
    world = World(shop())
    for number in (1, 1, 2):
        order(world.database, "ada", world.database.stamp(), number=number)
    world.database.tick(60)
    first = world.sync(by_batch)
    assert (first.rows.inserted, first.guarantee, str(first.new_watermark)) == (3, Guarantee.SETTLED, "2")
    order(world.database, "grace", world.database.stamp(), number=2)
    world.database.tick(60)
    again = world.sync(by_batch)
    assert (again.rows.read, again.rows.inserted, again.rows.unchanged) == (2, 1, 1)
    assert_equal(world)
    assert [world.sync(by_batch).status for _ in range(2)] == [Status.IDLE, Status.IDLE]


def test_a_number_that_was_drawn_and_not_written_yet_is_waited_for() -> None:
    world = World(shop())
    slow, quick = world.database.begin(), world.database.begin()
    drawn = world.database.nextval()
    order(quick, "quick", quick.stamp())
    quick.commit()
    assert world.sync(BY_ID).new_watermark is None, "number 1 may still come"
    order(slow, "slow", slow.stamp(), number=drawn)
    slow.commit()
    world.sync(BY_ID)
    assert_equal(world)


def test_a_session_that_stands_still_before_it_shows_its_stamp_is_waited_for() -> None:
    world = opened()
    world.sync(UPSERT)
    still = world.database.begin()
    still.stand_still(idle=1.0)
    world.database.tick(60)
    order(world.database, "edsger", world.database.stamp())
    world.sync(UPSERT)
    still.show()
    order(still, "alan", still.stamp())
    still.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


def test_a_session_that_is_called_as_ours_are_and_has_written_nothing_yet_is_waited_for() -> None:
    world = opened()
    world.sync(UPSERT)
    lent = world.database.begin()
    lent.named = True
    world.database.tick(60)
    order(world.database, "edsger", world.database.stamp())
    world.sync(UPSERT)
    order(lent, "alan", lent.stamp())
    lent.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


def test_a_stamp_taken_just_before_its_transaction_shows_is_behind_the_guard() -> None:
    world = opened()
    unseen = world.database.begin(shown=False)
    world.database.tick(0.001)
    order(world.database, "edsger", world.database.stamp())
    world.sync(UPSERT)
    unseen.show()
    order(unseen, "alan", unseen.stamp())
    unseen.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


def test_a_prepared_transaction_keeps_the_watermark_and_its_rows_land_when_it_commits() -> None:
    world = opened()
    world.sync(UPSERT)
    prepared = world.database.begin()
    order(prepared, "edsger", prepared.stamp())
    prepared.prepare("gx-1")
    world.database.tick(3600)
    order(world.database, "alan", world.database.stamp())
    held = world.sync(UPSERT)
    assert held.new_watermark == held.previous_watermark
    prepared.commit()
    world.database.tick(60)
    world.sync(UPSERT)
    assert_equal(world)


@pytest.mark.parametrize(
    "moment", ["before observe", "after observe", "before inspect", "before snapshot", "after snapshot"]
)
@pytest.mark.parametrize("spec", [UPSERT, APPEND, BY_ID], ids=["upsert", "append", "by id"])
def test_what_commits_while_a_sync_runs_lands_with_this_one_or_the_next(spec: TableSpec, moment: str) -> None:
    world = opened()
    world.sync(spec)
    slow = world.database.begin()
    order(slow, "slow", slow.stamp())
    world.database.tick(600)
    order(world.database, "quick", world.database.stamp())
    process = world.process()
    process.at[moment] = slow.commit
    world.sync(spec, process=process)
    world.database.tick(60)
    world.sync(spec)
    assert_equal(world)
