"""A table with a schedule is looked at when that says so: a look that was due counts, whatever it found."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.captures.due import next_look
from incremental_assets.core.checks.verdict import freshness_of
from incremental_assets.core.config.settings import Freshness
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.schedule import Schedule
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.unfilled import Unfilled
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.preview.pending import look_over
from incremental_assets.core.syncing.idle import keep
from incremental_assets.core.syncing.sync import sync_table
from tests.fakes import World
from tests.scenario import ORDERS, order, orders, shop

DAILY = Schedule.parse("0 6 * * *")
FOLLOWED = replace(orders(), schedule=DAILY)
EACH = Deletes(DeleteMode.DIFF, every=timedelta())
WHOLE = replace(orders(Strategy.FULL_REFRESH), cursor=None, schedule=DAILY, refresh_every=timedelta())
COMPARED = replace(orders(deletes=EACH), cursor=None, compares=True, schedule=DAILY, refresh_every=timedelta())
KINDS = pytest.mark.parametrize("spec", [FOLLOWED, WHOLE, COMPARED], ids=["cursor", "whole", "compared"])
TUESDAY = datetime(2024, 1, 30, 6, tzinfo=UTC)
"""The source's clock begins on Monday the 29th of January at 9:00."""


def loaded(spec: TableSpec) -> World:
    """A table that was read for the first time on Monday, as soon as it was there."""
    world = World(shop())
    order(world.database, "ada", world.database.stamp())
    assert world.sync(spec).status is Status.LANDED
    world.pass_time(60)
    order(world.database, "grace", world.database.stamp())
    world.pass_time(60)
    return world


def state(world: World) -> State:
    found = world.ports().checkpoints.position(ORDERS).state
    assert found is not None
    return found


def looked(world: World, spec: TableSpec) -> bool:
    """A look of the sensor: whether it would ask for a run. What it has to keep, it keeps."""
    ports = world.ports()
    positions = ports.checkpoints.positions()
    known = ObserveRequest(spec, positions[spec.id].state)
    moved, stopped, still = look_over([spec], positions, ports.probe.observe([known]))
    assert not stopped
    keep(still, ports.checkpoints)
    return bool(moved)


def until(world: World, moment: datetime) -> None:
    world.pass_time((moment - world.database.clock).total_seconds())


def now(world: World, spec: TableSpec) -> SyncReport:
    return sync_table(spec, replace(world.request(Mode.SYNC), looks_now=True), world.ports())


@KINDS
def test_nothing_is_read_before_the_table_is_due_by_a_look_or_by_hand(spec: TableSpec) -> None:
    world = loaded(spec)
    assert not looked(world, spec)
    report = world.sync(spec)
    assert (report.status, report.reason, report.next_look) == (
        Status.IDLE,
        "not due before 2024-01-30 06:00Z",
        TUESDAY,
    )
    until(world, TUESDAY - timedelta(seconds=1))
    assert not looked(world, spec)
    until(world, TUESDAY)
    assert looked(world, spec)
    assert world.sync(spec).rows.inserted == 1 + (spec is WHOLE)
    assert next_look(spec, state(world)) == TUESDAY + timedelta(days=1)


@KINDS
def test_who_asks_for_it_now_does_not_wait(spec: TableSpec) -> None:
    world = loaded(spec)
    assert now(world, spec).status is Status.LANDED
    assert world.sync(spec).next_look == TUESDAY


def test_a_look_that_was_due_and_found_nothing_is_kept_so_that_what_comes_later_waits_for_the_next_day() -> None:
    world = loaded(FOLLOWED)
    assert now(world, FOLLOWED).status is Status.LANDED
    until(world, TUESDAY + timedelta(seconds=30))
    assert not looked(world, FOLLOWED)
    assert state_of(state(world).to_json()).looked == TUESDAY + timedelta(seconds=30)
    order(world.database, "alan", world.database.stamp())
    world.pass_time(60)
    assert not looked(world, FOLLOWED)
    assert world.sync(FOLLOWED).next_look == TUESDAY + timedelta(days=1)
    until(world, TUESDAY + timedelta(days=1))
    assert looked(world, FOLLOWED)


def test_a_sync_by_hand_that_was_due_and_found_nothing_counts_as_well() -> None:
    world = loaded(FOLLOWED)
    assert now(world, FOLLOWED).status is Status.LANDED
    until(world, TUESDAY)
    assert world.sync(FOLLOWED).reason == "nothing changed"
    assert world.sync(FOLLOWED).reason == "not due before 2024-01-31 06:00Z"


def test_a_sensor_that_was_off_in_the_night_is_late_and_misses_nothing() -> None:
    world = loaded(FOLLOWED)
    until(world, TUESDAY + timedelta(hours=5))
    assert looked(world, FOLLOWED)


def test_a_clock_that_was_put_back_makes_no_table_wait_longer() -> None:
    world = loaded(WHOLE)
    world.database.tick(-3600)
    assert looked(world, WHOLE)


def test_a_backfill_and_a_full_refresh_ask_no_calendar() -> None:
    world = loaded(FOLLOWED)
    assert world.backfill(FOLLOWED, Window(None, None)).status is Status.LANDED
    assert world.sync(FOLLOWED, mode=Mode.FULL_REFRESH).status is Status.LANDED


def test_new_columns_are_filled_when_the_table_is_due() -> None:
    world = loaded(FOLLOWED)
    known = replace(state(world), unfilled=Unfilled(("status",), None, None))
    position = replace(world.ports().checkpoints.position(ORDERS), state=known)
    seen = world.ports().probe.observe([ObserveRequest(FOLLOWED, known)])
    moved, _, _ = look_over([FOLLOWED], {ORDERS: position}, seen)
    assert not moved


def test_deletes_that_are_looked_for_daily_are_so_with_each_daily_look_though_that_comes_a_moment_earlier() -> None:
    spec = replace(FOLLOWED, deletes=Deletes(DeleteMode.DIFF, every=timedelta(days=1)))
    world = World(shop())
    for number in range(1, 9):
        order(world.database, "ada", world.database.stamp(), number=number)
    until(world, TUESDAY + timedelta(seconds=30))
    world.sync(spec)
    world.database.delete(ORDERS, {"id": 1})
    until(world, TUESDAY + timedelta(days=1))
    assert world.sync(spec).rows.deleted == 1


def test_freshness_counts_from_when_the_table_is_due() -> None:
    world = loaded(FOLLOWED)
    limits = Freshness(fail=timedelta(hours=1))

    def at(moment: datetime) -> tuple[bool, str]:
        until(world, moment)
        found = freshness_of(ObserveRequest(FOLLOWED, state(world)), limits, 9 * 3600.0, world.ports().probe.bound())
        return found.passed, found.detail

    assert at(TUESDAY - timedelta(hours=1)) == (
        True,
        "not looked at since it was read last: the next look is in 1h",
    )
    assert at(TUESDAY + timedelta(hours=2)) == (False, "the table should have been looked at 2h ago")


def test_freshness_counts_no_quiet_time_and_says_so() -> None:
    world = loaded(orders())
    limits, quiet = Freshness(fail=timedelta(hours=1)), QuietTime.parse("22:00-06:00")

    def at(hour: int, lag: float) -> tuple[bool, str]:
        until(world, datetime(2024, 1, 30, hour, tzinfo=UTC))
        request = ObserveRequest(orders(), state(world))
        found = freshness_of(request, limits, lag * 3600, world.ports().probe.bound(), quiet)
        return found.passed, found.detail

    assert at(5, 6.5) == (
        True,
        "the oldest row that has not landed is 6h 30m old; not counted: 6h 30m of the quiet time 22:00-06:00, in which no sensor looks; the source is quiet until 06:00Z",
    )
    passed, told = at(7, 10)
    assert not passed
    assert told == (
        "the oldest row that has not landed is 10h old, more than 1h; not counted: 8h of the quiet time 22:00-06:00, in which no sensor looks"
    )
    assert at(8, 0.5) == (True, "the oldest row that has not landed is 30m old")
