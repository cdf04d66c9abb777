"""A table of numbers that stands still: what has settled since is kept by a look, so that nobody reads or counts it again."""

from __future__ import annotations

from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.syncing.idle import IdleTable, keep
from incremental_assets.core.syncing.pending import look_over
from tests.fakes import FakeProbe, World
from tests.scenario import ORDERS, order, orders, shop

NUMBERED = orders(Strategy.APPEND, cursor="id")


def looked(world: World, spec: TableSpec) -> tuple[IdleTable, ...]:
    """What a sensor's look makes of one table that did not move."""
    positions = world.checkpoints.positions()
    seen = FakeProbe(world.database).observe([ObserveRequest(spec, positions[ORDERS].state)])
    moved, stopped, still = look_over([spec], positions, seen)
    assert (moved, stopped) == ((), ())
    return tuple(each for each in still if each.is_news)


def landed(spec: TableSpec) -> World:
    """Three orders have landed while somebody else's transaction was open, which then ended without a row."""
    world = World(shop())
    for name in ("ann", "bob", "cyd"):
        order(world.database, name, world.database.stamp())
    other = world.database.begin()
    world.sync(spec)
    other.abort()
    world.pass_time(10)
    return world


def test_numbers_that_have_settled_are_kept_by_a_look_and_not_read_again() -> None:
    world = landed(NUMBERED)
    before = world.checkpoints.position(ORDERS).state
    assert before is not None
    assert before.position.watermark is None

    keep(looked(world, NUMBERED), world.checkpoints)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert str(state.position.watermark) == "4"
    assert looked(world, NUMBERED) == (), "once is enough"

    order(world.database, "dan", world.database.stamp())
    assert world.sync(NUMBERED).rows.read == 1


def test_a_watermark_that_moves_with_the_clock_is_no_news() -> None:
    world = landed(orders())
    world.pass_time(3600)
    assert looked(world, orders()) == ()


def test_a_watermark_that_goes_back_with_the_clock_is_kept_once() -> None:
    world, spec = landed(orders()), orders()
    world.pass_time(3600)
    world.sync(spec)
    world.database.tick(-60)
    keep(looked(world, spec), world.checkpoints)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert state.put_back is not None
    assert state.position.watermark is not None
    assert state.position.watermark.moment() < world.database.clock
    assert looked(world, spec) == (), "once is enough"


def test_what_was_kept_long_ago_is_not_touched_by_a_clock_that_is_put_back_now() -> None:
    world, spec = landed(orders()), orders()
    world.pass_time(3600)
    world.database.tick(-60)
    order(world.database, "dan", world.database.stamp())
    world.sync(spec)
    assert sorted(str(row["customer"]) for row in world.rows(ORDERS)) == ["ann", "bob", "cyd", "dan"]


def test_a_table_that_another_run_holds_is_left_to_the_next_look() -> None:
    world = landed(NUMBERED)
    still = looked(world, NUMBERED)
    with world.checkpoints.lease(ORDERS, "another run"):
        keep(still, world.checkpoints)
    state = world.checkpoints.position(ORDERS).state
    assert state is not None
    assert state.position.watermark is None


def test_what_a_sync_has_landed_since_is_not_turned_back() -> None:
    world = landed(NUMBERED)
    still = looked(world, NUMBERED)
    order(world.database, "dan", world.database.stamp())
    world.sync(NUMBERED)
    after = world.checkpoints.position(ORDERS).state

    keep(still, world.checkpoints)
    assert world.checkpoints.position(ORDERS).state == after
