"""A source's clock that was put back: what proves it, how far down rows may have been stamped since, and until when it matters."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.captures.database.bound import GUARD, Bound
from incremental_assets.core.captures.database.clock_steps import put_back
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.position import DatabasePosition, Settling
from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.maintenance.reset import reset_table
from incremental_assets.core.model.clock_reading import ClockReading, HostClock, PutBack
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Request, SyncPlan
from incremental_assets.core.syncing.sync import sync_table
from tests.core.plans import placed
from tests.fakes import Killed, World
from tests.scenario import MONDAY, ORDERS, ORDERS_SHAPE, order, orders
from tests.snapshots import as_read

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
SHOP = SourceIdentity.of(1, 1000, system="7001", database="shop")
BY_STAMP, BY_ID = orders(), orders(Strategy.APPEND, cursor="id")


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def host(uptime: float, *, boot: str = "worker", wall: float | None = None, took: float = 0.0) -> HostClock:
    return HostClock(boot, uptime, uptime if wall is None else wall, took)


def bound(
    clock: datetime,
    *,
    oldest: datetime | None = None,
    newest: datetime | None = None,
    listed: datetime | None = None,
    at: HostClock | None = None,
) -> Bound:
    return Bound(clock, oldest, "", None, "", "UTC", SHOP, newest or oldest, listed, at)


def state(spec: TableSpec = BY_STAMP, **changes: object) -> State:
    position = DatabasePosition(reading=ClockReading(NOON, NOON, host(100)))
    return placed(State("app", 3, "batch", spec.terms, position, identity=SHOP), **changes)


def stamp(moment: datetime) -> CursorValue:
    return CursorValue.of(CursorType.TIMESTAMP, moment)


# --- what proves it ------------------------------------------------------------------------------------


def test_a_clock_that_went_on_as_ours_did_was_not_put_back() -> None:
    assert put_back(state(), bound(NOON + seconds(60), at=host(160))) is None
    assert put_back(None, bound(NOON, at=host(100))) is None


def test_a_clock_that_shows_less_than_it_did_was_put_back_by_that_and_by_the_time_that_has_passed() -> None:
    found = put_back(state(), bound(NOON - seconds(50), at=host(110)))
    assert found == PutBack(NOON - seconds(60), NOON + seconds(10), proven=True)


def test_a_clock_that_has_caught_up_since_is_found_out_by_ours() -> None:
    found = put_back(state(), bound(NOON + seconds(30), at=host(190)))
    assert found == PutBack(NOON - seconds(60), NOON + seconds(90), proven=True)


def test_a_clock_that_was_set_forward_does_no_harm() -> None:
    assert put_back(state(), bound(NOON + seconds(3600), at=host(110))) is None


@pytest.mark.parametrize(("by", "noticed"), [(0.9, False), (1.1, True)])
def test_less_than_a_second_is_left_to_the_guard(by: float, noticed: bool) -> None:
    assert (put_back(state(), bound(NOON + seconds(60 - by), at=host(160))) is not None) is noticed
    assert seconds(1.0) < GUARD


def test_an_answer_that_took_its_time_proves_nothing_and_is_allowed_for() -> None:
    slow = host(100, took=10)
    found = put_back(state(reading=ClockReading(NOON, NOON, slow)), bound(NOON + seconds(55), at=host(160)))
    assert found == PutBack(NOON - seconds(5), NOON + seconds(60), proven=False)


def test_two_machines_whose_clocks_disagree_prove_nothing_and_cost_what_they_differ_in() -> None:
    found = put_back(state(), bound(NOON + seconds(60), at=host(7, boot="another", wall=165)))
    assert found == PutBack(NOON - seconds(5), NOON + seconds(65), proven=False)
    assert put_back(state(), bound(NOON - seconds(5), at=host(7, boot="another", wall=90))) == PutBack(
        NOON - seconds(5), NOON, proven=True
    )


def test_a_state_without_a_reading_has_the_clock_of_its_last_sync() -> None:
    found = put_back(state(reading=None, clock=NOON), bound(NOON - seconds(60), at=host(5)))
    assert found == PutBack(NOON - seconds(60), NOON, proven=True)


def test_a_transaction_that_began_before_all_that_was_open_began_since() -> None:
    found = put_back(state(), bound(NOON + seconds(60), oldest=NOON - seconds(30), at=host(160)))
    assert found == PutBack(NOON - seconds(30), NOON + seconds(60), proven=True)
    hidden = state(reading=ClockReading(NOON, None, host(100)))
    assert put_back(hidden, bound(NOON + seconds(60), oldest=NOON - seconds(30), at=host(160))) is None


def test_a_transaction_from_the_future_leaves_the_watermark_at_what_was_certain_before_it_ends() -> None:
    ahead = bound(NOON + seconds(10), oldest=NOON + seconds(70), at=host(110))
    assert put_back(state(), ahead) == PutBack(NOON, NOON + seconds(70), proven=True)
    assert put_back(None, ahead) == PutBack(None, NOON + seconds(70), proven=True)
    assert BY_STAMP.cursor is not None
    assert settle(BY_STAMP, BY_STAMP.cursor, ahead, None, None).value is None


def test_a_transaction_that_began_while_they_were_listed_is_not_from_the_future() -> None:
    stalled = bound(NOON, oldest=NOON + seconds(20), listed=NOON + seconds(21), at=host(100))
    assert put_back(state(), stalled) is None


# --- until when it matters -----------------------------------------------------------------------------


def test_it_matters_until_the_clock_and_every_open_transaction_are_past_it() -> None:
    kept = state(put_back=PutBack(NOON - seconds(60), NOON + seconds(10), proven=True))
    assert put_back(kept, bound(NOON + seconds(5), at=host(105))) == kept.position.put_back
    begun_before = bound(NOON + seconds(60), oldest=NOON + seconds(9), at=host(160))
    assert put_back(kept, begun_before) == kept.position.put_back
    assert put_back(kept, bound(NOON + seconds(60), oldest=NOON + seconds(30), at=host(160))) is None


def test_put_back_twice_the_lowest_counts() -> None:
    kept = state(put_back=PutBack(NOON - seconds(60), NOON + seconds(10), proven=False))
    found = put_back(kept, bound(NOON - seconds(100), at=host(100)))
    assert found == PutBack(NOON - seconds(100), NOON + seconds(10), proven=True)


# --- what a sync does ----------------------------------------------------------------------------------


def decided(
    spec: TableSpec, kept: State, found: Bound, mode: Mode = Mode.SYNC, **seen: object
) -> SyncPlan | NothingToDo:
    request = Request("run", mode, window=Window(None, None) if mode is Mode.BACKFILL else None)
    return plan(spec, request, kept, CommitIds("app", 4, "next"), DatabaseObservation(found, **seen))  # type: ignore[arg-type]


def test_the_read_and_the_watermark_go_back_and_it_is_said() -> None:
    kept = state(watermark=stamp(NOON - GUARD), coverage=(Window(None, stamp(NOON - GUARD)),))
    found = decided(BY_STAMP, kept, bound(NOON - seconds(50), at=host(110)))
    assert isinstance(found, SyncPlan)
    assert found.reading.window.lower == found.reading.new_watermark == stamp(NOON - seconds(62))
    assert found.reading.settled.guarantee is Guarantee.BEST_EFFORT
    assert "from 2024-01-31 11:59:00Z to 2024-01-31 12:00:10Z for a second time" in found.reading.settled.reason
    assert any(
        "the source's clock was put back: rows stamped since 2024-01-31 11:59:00Z" in each for each in found.warnings
    )
    after = landed_state(found, as_read(0, None, None))
    assert after.position.put_back == PutBack(NOON - seconds(60), NOON + seconds(10), proven=True)
    assert after.position.coverage == (Window(None, stamp(NOON - seconds(62))),)
    assert after.position.reading == ClockReading(NOON - seconds(50), NOON - seconds(50), host(110))

    waiting = decided(BY_STAMP, after, bound(NOON, at=host(160)))
    assert isinstance(waiting, SyncPlan)
    assert waiting.reading.new_watermark == stamp(NOON - seconds(62))
    assert waiting.warnings == (), "it is told once"
    assert waiting.reading.settled.guarantee is Guarantee.BEST_EFFORT

    over = decided(BY_STAMP, after, bound(NOON + seconds(11), at=host(171)))
    assert isinstance(over, SyncPlan)
    assert over.reading.new_watermark == stamp(NOON + seconds(9))
    assert over.reading.settled.guarantee is Guarantee.SETTLED
    assert over.reading.put_back is None


def test_a_table_whose_kept_fingerprint_reaches_down_there_is_not_read_for_nothing() -> None:
    mark = Fingerprint(stamp(NOON - seconds(600)), 1, "x", "17")
    kept = state(watermark=stamp(NOON - GUARD), fingerprint=mark)
    found = decided(BY_STAMP, kept, bound(NOON - seconds(50), at=host(110)), fingerprint=mark)
    assert isinstance(found, NothingToDo)
    assert found.state is not None
    assert found.state.position.watermark == stamp(NOON - seconds(62))


def test_a_backfill_leaves_the_watermark_and_what_is_known_of_the_clock_to_the_next_sync() -> None:
    kept = state(watermark=stamp(NOON - GUARD), clock=NOON)
    found = decided(BY_STAMP, kept, bound(NOON - seconds(50), at=host(110)), Mode.BACKFILL)
    assert isinstance(found, SyncPlan)
    after = landed_state(found, as_read(0, None, None))
    assert (after.position.watermark, after.position.reading, after.position.put_back) == (
        kept.position.watermark,
        kept.position.reading,
        None,
    )


def test_a_full_refresh_still_waits_for_who_was_open_when_the_clock_was_put_back() -> None:
    kept = state(watermark=stamp(NOON - GUARD), clock=NOON)
    found = decided(BY_STAMP, kept, bound(NOON - seconds(50), at=host(110)), Mode.FULL_REFRESH)
    assert isinstance(found, SyncPlan)
    assert found.reading.new_watermark == stamp(NOON - seconds(62))
    exchanged = replace(
        bound(NOON - seconds(50), at=host(110)), identity=SourceIdentity.of(1, 1000, system="7002", database="shop")
    )
    other = decided(BY_STAMP, kept, exchanged, Mode.FULL_REFRESH)
    assert isinstance(other, SyncPlan)
    assert other.reading.new_watermark == stamp(NOON - seconds(52)), "another source has another clock"


def test_how_long_a_transaction_lasts_says_nothing_of_a_clock_that_is_put_back() -> None:
    spec = orders(holdback=timedelta(minutes=1))
    assert spec.cursor is not None
    found = settle(spec, spec.cursor, bound(NOON - seconds(3600), at=host(100)), None, state(spec))
    assert found.guarantee is Guarantee.BEST_EFFORT
    assert found.value == stamp(NOON - seconds(3660))


@pytest.mark.parametrize(
    ("kind", "text"), [(CursorType.DATE, "2024-01-30"), (CursorType.DATETIME, "2024-01-30T23:59:58")]
)
def test_dates_and_stamps_without_a_zone_go_back_in_their_own_zone(kind: CursorType, text: str) -> None:
    cursor = replace(BY_STAMP.cursor, type=kind)  # type: ignore[type-var]
    spec = replace(BY_STAMP, cursor=cursor)
    watermark = CursorValue.parse(kind, "2024-01-31" if kind is CursorType.DATE else "2024-01-31T11:59:58")
    kept = state(spec, watermark=watermark)
    found = settle(spec, cursor, bound(NOON - timedelta(hours=12), at=host(100)), None, kept)  # type: ignore[arg-type]
    assert str(found.value) == text


# --- numbers -------------------------------------------------------------------------------------------


def number(value: int) -> CursorValue:
    return CursorValue(CursorType.INTEGER, str(value))


def settled_number(kept: State, found: Bound, highest: int) -> tuple[CursorValue | None, Settling | None]:
    assert BY_ID.cursor is not None
    settled = settle(BY_ID, BY_ID.cursor, found, number(highest), kept)
    assert settled.guarantee is Guarantee.SETTLED, "numbers come from no clock"
    return settled.value, settled.settling


def test_a_number_of_a_transaction_that_looks_younger_than_the_look_does_not_settle() -> None:
    """It began at 12:00:50 and drew 39; the clock went back by 60 s; 40 was seen at 11:59:55."""
    began = NOON + seconds(50)
    first = settled_number(state(BY_ID), bound(NOON - seconds(5), oldest=began, at=host(155)), 40)
    assert first == (None, Settling(number(40), began))
    later = bound(NOON + seconds(120), oldest=began, at=host(280))
    assert settled_number(state(BY_ID, settling=first[1]), later, 60) == (
        None,
        Settling(number(40), began),
    )


def test_numbers_do_not_wait_for_a_clock_to_catch_up() -> None:
    kept = state(BY_ID, settling=Settling(number(40), NOON))
    hour_ago = NOON - timedelta(hours=1)
    assert settled_number(kept, bound(hour_ago, oldest=hour_ago - seconds(1), at=host(100)), 50) == (
        None,
        Settling(number(50), hour_ago),
    )


# --- as a story ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [Strategy.UPSERT, Strategy.APPEND])
@pytest.mark.parametrize("waits", [0, 90])
def test_rows_stamped_after_the_clock_was_put_back_land_once(strategy: Strategy, waits: int) -> None:
    world, spec = World.of(ORDERS_SHAPE), orders(strategy)
    world.database.clock = MONDAY
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(spec)
    world.database.tick(-60)
    order(world.database, "grace", world.database.stamp())
    world.pass_time(waits)
    seen = world.sync(spec)
    assert seen.guarantee is Guarantee.BEST_EFFORT
    assert sorted(str(row["customer"]) for row in world.rows(ORDERS)) == ["ada", "grace"]
    assert seen.new_watermark is not None
    assert seen.new_watermark <= stamp(world.database.clock)


def _customers(world: World) -> list[str]:
    return sorted(str(row["customer"]) for row in world.rows(ORDERS))


def test_a_transaction_that_was_open_when_the_clock_was_put_back_is_waited_for_until_it_ends() -> None:
    """It stamps by the clock, so that its begin says nothing of its rows; and the clock is long past that begin when it ends."""
    world, spec = World.of(ORDERS_SHAPE), orders()
    world.database.clock = MONDAY
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(spec)
    world.pass_time(10)
    slow = world.database.begin()
    world.database.tick(-60)
    order(slow, "grace", world.database.stamp())
    world.sync(spec)
    world.pass_time(120)
    world.sync(spec)
    slow.commit()
    world.pass_time(60)
    world.sync(spec)
    assert _customers(world) == ["ada", "grace"]


def test_a_first_sync_waits_for_a_transaction_that_began_later_than_now() -> None:
    world, spec = World.of(ORDERS_SHAPE), orders()
    world.database.clock = MONDAY
    order(world.database, "ada", world.database.stamp())
    world.pass_time(70)
    slow = world.database.begin()
    world.database.tick(-60)
    order(slow, "grace", world.database.stamp())
    world.pass_time(30)
    assert world.sync(spec).new_watermark is None
    slow.commit()
    world.sync(spec)
    assert _customers(world) == ["ada", "grace"]


def test_a_number_that_was_drawn_before_the_clock_was_put_back_lands_although_it_commits_long_after() -> None:
    world = World.of(ORDERS_SHAPE)
    world.database.clock = MONDAY
    slow = world.database.begin()
    drawn = world.database.nextval()
    world.database.tick(-60)
    order(world.database, "ada", world.database.stamp())
    world.sync(BY_ID)
    world.pass_time(120)
    order(world.database, "grace", world.database.stamp())
    world.sync(BY_ID)
    order(slow, "edsger", world.database.stamp(), number=drawn)
    slow.commit()
    world.pass_time(60)
    world.sync(BY_ID)
    assert _customers(world) == ["ada", "edsger", "grace"]


@pytest.mark.parametrize("moment", ["before snapshot", "after staged", "before commit"])
def test_a_run_that_is_killed_keeps_that_the_clock_was_put_back_although_it_is_put_forward_before_the_next_looks(
    moment: str,
) -> None:
    world, spec = World.of(ORDERS_SHAPE), orders()
    world.database.clock = MONDAY
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(spec)
    world.pass_time(10)
    world.database.tick(-60)
    order(world.database, "grace", world.database.stamp())
    dying = world.process()
    dying.at[moment] = dying.kill
    with pytest.raises(Killed):
        sync_table(spec, world.request(Mode.SYNC), world.ports(dying))
    order(world.database, "edsger", world.database.stamp())
    world.database.clock += timedelta(seconds=60)
    world.pass_time(600)
    world.sync(spec)
    assert _customers(world) == ["ada", "edsger", "grace"]


def test_after_a_reset_no_watermark_stands_above_a_clock_that_was_put_back_meanwhile() -> None:
    world, spec = World.of(ORDERS_SHAPE), orders()
    world.database.clock = MONDAY
    world.pass_time(3600)
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(spec)
    reset_table(spec=spec, to=stamp(MONDAY + timedelta(minutes=50)), run_id="reset", checkpoints=world.checkpoints)
    world.database.tick(-1800)
    world.sync(spec)
    order(world.database, "grace", world.database.stamp())
    world.pass_time(60)
    world.sync(spec)
    assert _customers(world) == ["ada", "grace"]
