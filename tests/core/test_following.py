"""A history begins when it is asked for, goes on with its table, and costs a table without one nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.core.model.history import FaultyKeys, History
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.syncing.idle import IdleTable, finish
from tests.core.test_rollback import back, three_days
from tests.fakes import FakeLake, FakeProbe, Killed, World
from tests.scenario import ORDERS, monday, order, orders, shop, wednesday

PLAIN = orders()
KEPT = replace(PLAIN, history=History.SCD2)


def landed(spec: TableSpec) -> World:
    world = World(shop())
    monday(world.database).commit()
    world.sync(spec)
    return world


def assert_sound(world: World) -> None:
    assert world.lake.differing_versions(KEPT) == FaultyKeys(0)
    assert world.lake.overlapping_versions(KEPT) == FaultyKeys(0)


def test_without_a_history_nothing_is_asked_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("a history was asked for")

    monkeypatch.setattr(FakeLake, "behind", asked)
    world = landed(PLAIN)
    order(world.database, "alan", world.database.stamp())
    assert world.sync(PLAIN).history is None
    assert world.sync(PLAIN).status is Status.IDLE


def test_a_history_that_is_switched_on_begins_with_the_copy_though_nothing_has_changed() -> None:
    world = landed(PLAIN)
    world.sync(PLAIN)
    begun = world.sync(KEPT)
    assert begun.status is Status.IDLE
    assert begun.history is not None
    assert begun.history.added == len(world.rows(ORDERS))
    assert world.sync(KEPT).history is None
    assert_sound(world)


def test_a_sync_of_many_idle_tables_leaves_one_to_a_sync_of_its_own_whose_history_has_still_to_follow() -> None:
    world = landed(PLAIN)
    world.pass_time(10)

    def idle(spec: TableSpec) -> tuple[IdleTable, ...]:
        positions = world.checkpoints.positions()
        seen = FakeProbe(world.database).observe([ObserveRequest(spec, positions[ORDERS].state)])
        return look_over([spec], positions, seen)[2]

    assert finish(idle(KEPT), Request("run"), world.ports()) == ()
    world.sync(KEPT)
    assert len(finish(idle(KEPT), Request("run"), world.ports())) == 1


def test_a_sync_reports_what_it_did_to_the_history_with_what_it_found_left_to_do() -> None:
    world = landed(PLAIN)
    order(world.database, "alan", world.database.stamp())
    report = world.sync(KEPT)
    assert report.history is not None
    assert report.history.added == len(world.rows(ORDERS))
    assert [phase for phase, _ in report.phases] == ["plan", "read", "apply", "history"]


def test_a_history_goes_on_over_a_pause_a_copy_that_was_lost_and_stamps_that_go_back() -> None:
    world = landed(KEPT)
    wednesday(world.database)
    world.sync(PLAIN)
    order(world.database, "alan", world.database.stamp())
    world.sync(PLAIN)
    world.sync(KEPT)
    assert_sound(world)
    world.lake.drop(ORDERS)
    wednesday(world.database)
    world.sync(KEPT, mode=Mode.FULL_REFRESH)
    assert_sound(world)
    notes = [version.row["status"] for version in world.lake.histories[ORDERS].versions[(5,)]]
    assert notes == ["new", "cancelled", "cancelled"], "of what happened twice, with another stamp each time"


def test_what_another_writer_did_to_the_copy_reaches_the_history_only_with_the_sync_that_a_person_asked_for() -> None:
    world = landed(KEPT)
    world.lake.foreign(ORDERS, "DELETE", world.lake.tables[ORDERS].rows[1:])
    order(world.database, "alan", world.database.stamp())
    with pytest.raises(Exception, match="changed by another writer"):
        world.sync(KEPT)
    assert all(len(versions) == 1 for versions in world.lake.histories[ORDERS].versions.values())
    world.sync(KEPT, mode=Mode.FULL_REFRESH)
    assert_sound(world)


def statuses(world: World) -> list[object]:
    """Of the first order, oldest first."""
    return [version.row["status"] for version in world.lake.histories[ORDERS].versions[(1,)]]


def test_a_rollback_takes_the_history_back_whatever_moment_it_is_killed_at() -> None:
    world, done = three_days(KEPT)
    assert statuses(world) == ["new", "day 2", "day 3"]
    process = world.process()
    back(world, KEPT, done[0].run_id, process)
    assert statuses(world) == ["new"]
    assert_sound(world)
    for number, moment in enumerate(process.moments):
        world, done = three_days(KEPT)
        dying = world.process()
        dying.kill_at = number
        with pytest.raises(Killed):
            back(world, KEPT, done[0].run_id, dying)
        is_done = world.lake.tables[ORDERS].log[-1].rolled_back_to is not None
        world.sync(KEPT)
        assert statuses(world) == (["new", "day 3"] if is_done else ["new", "day 2", "day 3"]), moment
        assert_sound(world)
