"""A rollback takes a copy, its quarantine, its watermark and its coverage back to a run; the next sync goes on from there."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from incremental_assets.core.captures.database.position import position_of
from incremental_assets.core.errors import Busy, CommitMissing, Refused, SelectionError, TargetChanged
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from tests.fakes import World
from tests.fakes.rows import ordered
from tests.fakes.world import Killed, Process, Sleeper
from tests.scenario import COUNTRIES, ORDERS, countries, order, orders, shop

BOTH = pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])


def three_days(spec: TableSpec) -> tuple[World, list[SyncReport]]:
    """Three syncs: rows that come, rows that change, and in the second and third one that cannot land."""
    world = World(shop())
    done = []
    for day in (1, 2, 3):
        for each in range(3):
            order(world.database, f"{day}.{each}", world.database.stamp())
        if day > 1:
            order(world.database, "unfit", world.database.stamp())
            world.database.update(ORDERS, {"id": 1}, status=f"day {day}", updated_at=world.database.stamp())
        world.pass_time(3600)
        done.append(world.sync(spec))
        world.pass_time(20 * 3600)
    return world, done


def back(world: World, spec: TableSpec, to: str, process: Process | None = None) -> SyncReport:
    return roll_back(spec, to, "the-rollback", world.ports(process))


def held(world: World) -> list[Any]:
    return ordered(world.rows(ORDERS))


def shown(world: World) -> list[Any]:
    """What an upsert holds of the source."""
    return ordered(row for row in world.database.rows(ORDERS) if row["customer"] != "unfit")


def quarantined(world: World) -> list[object]:
    return [row["_sync_seq"] for row in world.lake.quarantine[ORDERS]]


@BOTH
def test_rows_watermark_coverage_and_quarantine_are_those_of_then(strategy: Strategy) -> None:
    spec = orders(strategy)
    world, done = three_days(spec)
    _, second, third = done
    then = world.checkpoints.position_after(ORDERS, second.run_id)
    assert then is not None
    assert then.state is not None
    rows = world.lake.tables[ORDERS].log[second.target_version or 0].rows
    assert quarantined(world) == [1, 2]
    world.checkpoints.remember_verified(ORDERS, 0, lambda *_: Verified("2024-01-31T00:00:00Z"))
    report = back(world, spec, second.run_id)

    assert world.lake.tables[ORDERS].rows == rows
    now = world.checkpoints.position(ORDERS).state
    assert now is not None
    left, kept = position_of(now), position_of(then.state)
    assert (left.watermark, left.max_cursor_read, left.settling) == (
        kept.watermark,
        kept.max_cursor_read,
        kept.settling,
    )
    assert (left.due, left.coverage) == (kept.due, kept.coverage)
    assert quarantined(world) == [1]
    assert (report.status, report.mode, report.previous_watermark, report.new_watermark) == (
        Status.LANDED,
        Mode.ROLLBACK,
        third.new_watermark,
        second.new_watermark,
    )
    assert (report.seq, now.seq) == (3, 3)
    assert world.checkpoints.verified()[ORDERS] == Verified(None)
    assert world.memory.events[-1].detail == f"rolled back to run {second.run_id}"


@BOTH
def test_the_next_sync_reads_from_there_and_lands_nothing_twice(strategy: Strategy) -> None:
    spec = orders(strategy)
    world, done = three_days(spec)
    before = held(world)
    back(world, spec, done[0].run_id)
    assert len(held(world)) == 3
    world.sync(spec)
    if strategy is Strategy.UPSERT:
        assert held(world) == shown(world) == before
        assert quarantined(world) == [4, 4]
    else:
        # The version of the second day was never seen again.
        assert held(world) == [row for row in before if row["status"] != "day 2"]
    again = held(world)
    world.pass_time(60)
    world.sync(spec)
    assert held(world) == again


def test_a_rollback_can_itself_be_taken_back() -> None:
    spec = orders()
    world, done = three_days(spec)
    rows = held(world)
    back(world, spec, done[0].run_id)
    back(world, spec, done[2].run_id)
    assert held(world) == rows
    assert [event.seq for event in world.memory.events if event.kind == "landed"] == [0, 1, 2, 3, 4]


def test_a_run_that_found_nothing_to_do_is_a_place_to_go_back_to() -> None:
    spec = orders()
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.pass_time(10)
    world.sync(spec)
    world.pass_time(3600)
    idle = world.sync(spec)
    assert idle.status is Status.IDLE
    rows = held(world)
    order(world.database, "bob", world.database.stamp())
    world.pass_time(10)
    world.sync(spec)
    report = back(world, spec, idle.run_id)
    assert held(world) == rows
    assert report.new_watermark == idle.new_watermark


def test_what_another_writer_did_since_is_taken_back_too() -> None:
    spec = orders()
    world, done = three_days(spec)
    rows = held(world)
    world.lake.foreign(ORDERS, "DELETE", [])
    back(world, spec, done[2].run_id)
    assert held(world) == rows
    world.pass_time(60)
    assert world.sync(spec).status is not Status.FAILED


def test_what_has_no_version_to_go_back_to_is_refused_in_a_sentence() -> None:
    spec = orders()
    world, done = three_days(spec)
    with pytest.raises(SelectionError, match="no sync of this table by a run 'nobody' has landed"):
        back(world, spec, "nobody")
    world.database.insert(COUNTRIES, code="ch", name="Switzerland")
    first = world.sync(countries())
    with pytest.raises(SelectionError, match="is read whole, and its next sync would bring"):
        back(world, countries(), first.run_id)
    with pytest.raises(Refused, match="was synced by another cursor, key or strategy"):
        back(world, replace(spec, key=("id", "customer")), done[1].run_id)
    reset_table(spec=spec, to=None, run_id="the-reset", checkpoints=world.checkpoints)
    world.lake.drop(ORDERS)
    world.sync(spec)
    with pytest.raises(TargetChanged, match="the copy has been recreated since run"):
        back(world, spec, done[1].run_id)
    with pytest.raises(SelectionError, match="nothing has landed yet, so there is nothing to roll back"):
        back(World(shop()), spec, "nobody")


def test_it_is_refused_while_a_run_holds_the_lease() -> None:
    spec = orders()
    world, done = three_days(spec)
    order(world.database, "new", world.database.stamp())
    world.pass_time(10)
    asleep = world.asleep(spec, "before commit")
    with pytest.raises(Busy):
        back(world, spec, done[0].run_id)
    asleep.wake()


def test_one_that_sleeps_past_its_lease_takes_nothing_back_when_it_wakes() -> None:
    spec = orders()
    world, done = three_days(spec)
    process = world.process()
    sleeper = Sleeper(process, "before commit", lambda: back(world, spec, done[0].run_id, process))
    assert sleeper.is_asleep
    world.pass_time(120)
    order(world.database, "new", world.database.stamp())
    world.pass_time(10)
    world.sync(spec)
    rows = held(world)
    sleeper.wake()
    assert isinstance(sleeper.error, CommitMissing)
    assert held(world) == rows == shown(world)


@BOTH
def test_a_rollback_can_be_killed_at_any_moment(strategy: Strategy) -> None:
    """The next run finds it done, quarantine included, or not begun; the sync after it leaves the copy as it is without the kill."""
    spec = orders(strategy)
    seen: set[bool] = set()
    for number, moment in enumerate(_moments(spec)):
        world, done = three_days(spec)
        process = world.process()
        process.kill_at = number
        with pytest.raises(Killed):
            back(world, spec, done[0].run_id, process)
        is_done = world.lake.tables[ORDERS].log[-1].rolled_back_to is not None
        seen.add(is_done)
        world.sync(spec)
        expected = shown(world) if strategy is Strategy.UPSERT else None
        whole = sorted(str(row["customer"]) for row in held(world))
        assert expected is None or held(world) == expected, moment
        # Of an append the second day's version is there where the rollback was undone.
        assert len(whole) == (9 if strategy is Strategy.UPSERT else 10 if is_done else 11), moment
        after = [sequence for sequence in quarantined(world) if int(str(sequence)) > 2]
        assert len(quarantined(world)) == 2, moment
        assert len(after) == (2 if is_done else 0), moment
        assert world.checkpoints.position(ORDERS).open is None, moment
        rows = held(world)
        world.pass_time(60)
        world.sync(spec)
        assert held(world) == rows, moment
    assert seen == {True, False}


def _moments(spec: TableSpec) -> list[str]:
    world, done = three_days(spec)
    process = world.process()
    back(world, spec, done[0].run_id, process)
    return process.moments


def test_rows_of_an_hour_that_the_clock_showed_twice_since_are_read_again() -> None:
    spec = orders()
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.pass_time(3600)
    first = world.sync(spec)
    world.database.clock -= timedelta(hours=1)
    world.pass_time(60)
    order(world.database, "of the second pass", world.database.stamp())
    world.pass_time(60)
    world.sync(spec)
    world.pass_time(3 * 3600)
    order(world.database, "later", world.database.stamp())
    world.pass_time(60)
    # The clock has passed the hour: nothing but the ledger still tells of it.
    assert world.sync(spec).guarantee is Guarantee.SETTLED
    back(world, spec, first.run_id)
    world.sync(spec)
    assert held(world) == shown(world)


def test_a_clock_that_was_put_back_behind_a_reset_is_noticed_after_the_rollback() -> None:
    spec = orders()
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    world.pass_time(3600)
    first = world.sync(spec)
    reset_table(spec=spec, to=None, run_id="the-reset", checkpoints=world.checkpoints)
    world.database.clock -= timedelta(hours=1)
    world.pass_time(60)
    order(world.database, "of the second pass", world.database.stamp())
    world.pass_time(3 * 3600)
    back(world, spec, first.run_id)
    world.sync(spec)
    assert held(world) == shown(world)


def test_where_a_run_since_could_settle_nothing_the_rollback_settles_nothing_either() -> None:
    spec = orders()
    world = World(shop())
    first = world.sync(spec)
    assert first.new_watermark is not None
    world.database.begin()
    world.pass_time(0.001)
    world.database.clock -= timedelta(seconds=3)
    reset_table(spec=spec, to=None, run_id="the-reset", checkpoints=world.checkpoints)
    assert world.sync(spec).new_watermark is None, "a transaction is open that began later than now"
    back(world, spec, first.run_id)
    order(world.database, "stamped below the watermark of then", world.database.stamp())
    world.sync(spec)
    assert held(world) == shown(world)
