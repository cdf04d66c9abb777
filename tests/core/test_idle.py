"""A table of numbers that stands still: what has settled since is kept by a look, so that nobody reads or counts it again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.history import History
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.syncing.idle import IdleTable, finish, keep
from tests.fakes import FakeLake, FakeProbe, World
from tests.scenario import ORDERS, order, orders, shop

NUMBERED = orders(Strategy.APPEND, cursor="id")


def looked(world: World, spec: TableSpec) -> tuple[IdleTable, ...]:
    """What a look comes to of one table that did not move, where that is news."""
    return tuple(each for each in unmoved(world, spec) if each.is_news)


def unmoved(world: World, spec: TableSpec) -> tuple[IdleTable, ...]:
    """What a look comes to of one table that did not move."""
    positions = world.checkpoints.positions()
    seen = FakeProbe(world.database).observe([ObserveRequest(spec, positions[ORDERS].state)])
    moved, stopped, still = look_over([spec], positions, seen)
    assert (moved, stopped) == ((), ())
    return still


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
    assert state.position.put_back is not None
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


def test_syncs_of_idle_tables_leave_what_a_sync_of_each_would() -> None:
    together, alone, spec = landed(orders()), landed(orders()), orders()

    (report,) = finish(unmoved(together, spec), Request("run"), together.ports())
    each = alone.sync(spec)

    assert report.status is Status.IDLE
    assert (report.new_watermark, report.settled, report.reason) == (each.new_watermark, each.settled, each.reason)
    assert together.checkpoints.kinds(ORDERS) == alone.checkpoints.kinds(ORDERS)
    left, expected = (world.checkpoints.position(ORDERS).state for world in (together, alone))
    assert left is not None
    assert expected is not None
    assert (left.position, left.position.coverage, left.clock) == (
        expected.position,
        expected.position.coverage,
        expected.clock,
    )
    assert together.memory.leases == {}


def test_an_idle_table_that_another_run_holds_is_busy() -> None:
    world, spec = landed(orders()), orders()
    still = unmoved(world, spec)
    with world.checkpoints.lease(ORDERS, "another run"):
        (report,) = finish(still, Request("run"), world.ports())
    assert report.status is Status.BUSY
    assert "idle" not in world.checkpoints.kinds(ORDERS)


def test_an_idle_table_whose_copy_another_hand_changed_is_left_to_a_sync_of_its_own() -> None:
    world, spec = landed(orders()), orders()
    still = unmoved(world, spec)
    world.lake.foreign(ORDERS, "DELETE", [])

    assert finish(still, Request("run"), world.ports()) == ()
    assert "idle" not in world.checkpoints.kinds(ORDERS)


def test_a_table_that_a_sync_has_landed_in_since_is_left_to_a_sync_of_its_own() -> None:
    world, spec = landed(orders()), orders()
    still = unmoved(world, spec)
    order(world.database, "dan", world.database.stamp())
    world.sync(spec)

    assert finish(still, Request("run"), world.ports()) == ()


@pytest.mark.parametrize("asked", ["last_commit", "behind"])
def test_an_idle_table_whose_copy_or_history_cannot_be_read_stops_no_other(
    monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    world, spec = landed(orders(history=History.SCD2)), orders(history=History.SCD2)
    (still,) = unmoved(world, spec)
    broken = replace(still, spec=replace(spec, shape=replace(spec.shape, id=replace(ORDERS, name="broken"))))
    answer = getattr(FakeLake, asked)

    def one_cannot_be_read(lake: FakeLake, spec: TableSpec) -> object:
        if spec.id == broken.spec.id:
            raise TargetChanged("no history of this program's")
        return answer(lake, spec)

    monkeypatch.setattr(FakeLake, asked, one_cannot_be_read)
    (report,) = finish((broken, still), Request("run"), world.ports())
    assert (report.table, report.status) == (ORDERS, Status.IDLE)
