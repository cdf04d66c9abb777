"""The settled bound: below it nothing can commit any more, whichever transactions are open and whatever the zone's clocks do."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.captures.database.bound import GUARD, Bound
from incremental_assets.core.captures.database.local_readings import highest_reading, lowest_reading
from incremental_assets.core.captures.database.position import DatabasePosition, Settling
from incremental_assets.core.captures.database.settled_bound import Settled, settle
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from tests.scenario import orders

DATE, DATETIME, TIMESTAMP, INTEGER = CursorType.DATE, CursorType.DATETIME, CursorType.TIMESTAMP, CursorType.INTEGER
NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
ZONES = [
    "America/New_York",
    "Europe/Paris",
    "Australia/Lord_Howe",
    "Australia/Adelaide",
    "Asia/Kathmandu",
    "UTC",
    "Pacific/Apia",
]


def bound(
    clock: datetime = NOON,
    oldest: datetime | None = None,
    *,
    prepared: str | None = None,
    blind: str = "",
    zone: str = "UTC",
) -> Bound:
    return Bound(clock, oldest, "4711 clerk" if oldest else "", prepared, blind, zone, identity=None)


def state(spec: TableSpec, watermark: str | None = None, settling: Settling | None = None) -> State:
    kind = spec.cursor.type if spec.cursor else TIMESTAMP
    value = None if watermark is None else CursorValue.parse(kind, watermark)
    return State("app", 3, "batch", spec.terms, DatabasePosition(value, settling=settling))


def settled_time(found: Bound, *, holdback: timedelta | int = 0, watermark: str | None = None) -> Settled:
    spec = orders(holdback=holdback)
    assert spec.cursor is not None
    return settle(spec, spec.cursor, found, None, state(spec, watermark))


# --- timestamps ------------------------------------------------------------------------------------


def test_with_nobody_there_it_is_the_clock_less_the_guard() -> None:
    found = settled_time(bound())
    assert found == Settled(
        CursorValue(TIMESTAMP, "2024-01-31T11:59:58Z"), Guarantee.SETTLED, "no transaction was open"
    )


def test_an_open_transaction_holds_it_at_its_begin_and_is_named() -> None:
    found = settled_time(bound(oldest=NOON - timedelta(hours=3)))
    assert str(found.value) == "2024-01-31T08:59:58Z"
    assert found.guarantee is Guarantee.SETTLED
    assert "4711 clerk" in found.reason


def test_one_that_has_only_just_begun_is_no_news_and_is_not_named() -> None:
    assert settled_time(bound(oldest=NOON - timedelta(seconds=1))).reason == "no transaction had been open for 2 s"


def test_a_session_that_stands_still_before_it_shows_its_stamp_holds_it_where_it_had_become_idle() -> None:
    still = replace(bound(), unshown=NOON - timedelta(minutes=5), holder="4711 clerk, which stands still")
    found = settled_time(still)
    assert (str(found.value), found.guarantee) == ("2024-01-31T11:54:58Z", Guarantee.SETTLED)
    assert "4711 clerk, which stands still" in found.reason
    older = replace(bound(oldest=NOON - timedelta(hours=3)), unshown=NOON - timedelta(minutes=5))
    assert str(settled_time(older).value) == "2024-01-31T08:59:58Z"


def test_a_transaction_from_the_future_of_a_clock_that_was_put_back_does_not_carry_it_past_the_clock() -> None:
    assert str(settled_time(bound(oldest=NOON + timedelta(hours=1))).value) == "2024-01-31T11:59:58Z"


def test_a_prepared_transaction_leaves_the_watermark_where_it_was() -> None:
    found = settled_time(bound(prepared="gx-1"), watermark="2024-01-30T00:00:00Z")
    assert str(found.value) == "2024-01-30T00:00:00Z"
    assert "gx-1" in found.reason


def test_a_prepared_transaction_before_the_first_sync_settles_nothing() -> None:
    assert settled_time(bound(prepared="gx-1")).value is None


def test_transactions_that_cannot_be_seen_lower_the_guarantee_and_say_why() -> None:
    found = settled_time(bound(blind="no pg_read_all_stats"))
    assert (found.guarantee, found.reason) == (Guarantee.BEST_EFFORT, "no pg_read_all_stats")


def test_a_holdback_is_a_guarantee_of_its_own_where_transactions_cannot_be_seen() -> None:
    found = settled_time(bound(blind="no pg_read_all_stats"), holdback=timedelta(minutes=15))
    assert (str(found.value), found.guarantee) == ("2024-01-31T11:45:00Z", Guarantee.HOLDBACK)


def test_a_holdback_settles_no_higher_than_it_reads_even_if_everything_is_over() -> None:
    found = settled_time(bound(), holdback=timedelta(minutes=15))
    assert (str(found.value), found.guarantee) == ("2024-01-31T11:45:00Z", Guarantee.SETTLED)


def test_a_transaction_older_than_the_holdback_counts_more_than_the_holdback() -> None:
    found = settled_time(bound(oldest=NOON - timedelta(hours=1)), holdback=timedelta(minutes=15))
    assert str(found.value) == "2024-01-31T10:59:58Z"


# --- dates and stamps without a zone ---------------------------------------------------------------


def test_a_date_cursor_settles_at_the_start_of_today() -> None:
    assert str(lowest_reading(Cursor("day", DATE), bound(), NOON)) == "2024-01-31"


def test_today_is_the_databases_own_today() -> None:
    just_after_midnight_in_utc = datetime(2024, 2, 1, 0, 30, tzinfo=UTC)
    cursor = Cursor("day", DATE)
    assert str(lowest_reading(cursor, bound(zone="America/New_York"), just_after_midnight_in_utc)) == "2024-01-31"
    assert str(lowest_reading(cursor, bound(zone="Europe/Paris"), just_after_midnight_in_utc)) == "2024-02-01"


def test_the_cursors_own_zone_counts_more_than_the_databases() -> None:
    cursor = Cursor("updated_at", DATETIME, zone="Asia/Kathmandu")
    assert str(lowest_reading(cursor, bound(zone="America/New_York"), NOON)) == "2024-01-31T17:45:00"


@pytest.mark.parametrize(
    ("zone", "utc", "lowest"),
    [
        # New York puts its clocks back on 3 November 2024 at 06:00Z: 01:00 to 02:00 comes twice.
        ("America/New_York", "2024-11-03T04:30", "2024-11-03T00:30:00"),
        ("America/New_York", "2024-11-03T05:00", "2024-11-03T01:00:00"),
        ("America/New_York", "2024-11-03T05:59", "2024-11-03T01:00:00"),
        ("America/New_York", "2024-11-03T06:00", "2024-11-03T01:00:00"),
        ("America/New_York", "2024-11-03T06:10", "2024-11-03T01:10:00"),
        ("America/New_York", "2024-11-03T07:00", "2024-11-03T02:00:00"),
        # Paris on 27 October 2024 at 01:00Z: 02:00 to 03:00.
        ("Europe/Paris", "2024-10-27T00:45", "2024-10-27T02:00:00"),
        ("Europe/Paris", "2024-10-27T01:15", "2024-10-27T02:15:00"),
        # Lord Howe moves by half an hour, on 7 April 2024 at 02:00 local: 01:30 to 02:00.
        ("Australia/Lord_Howe", "2024-04-06T14:50", "2024-04-07T01:30:00"),
        ("Australia/Lord_Howe", "2024-04-06T14:20", "2024-04-07T01:20:00"),
        # Adelaide's clocks go back at half past the hour of UTC.
        ("Australia/Adelaide", "2024-04-06T16:05", "2024-04-07T02:00:00"),
        # In spring an hour is left out, and nothing is repeated.
        ("Europe/Paris", "2024-03-31T00:59", "2024-03-31T01:59:00"),
        ("Europe/Paris", "2024-03-31T01:00", "2024-03-31T03:00:00"),
    ],
)
def test_before_and_during_an_hour_that_comes_twice_the_bound_stays_at_its_start(
    zone: str, utc: str, lowest: str
) -> None:
    instant = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    assert str(lowest_reading(Cursor("updated_at", DATETIME), bound(zone=zone), instant)) == lowest


def test_it_does_not_matter_in_which_offset_the_driver_gives_the_clock() -> None:
    instant = datetime(2024, 4, 6, 16, 5, tzinfo=UTC).astimezone(ZoneInfo("Asia/Kathmandu"))
    found = lowest_reading(Cursor("updated_at", DATETIME), bound(zone="Australia/Adelaide"), instant)
    assert str(found) == "2024-04-07T02:00:00"


def test_the_highest_reading_so_far_is_the_end_of_the_hour_that_is_being_repeated() -> None:
    in_the_second_pass = datetime(2024, 11, 3, 6, 10, tzinfo=UTC)
    found = highest_reading(Cursor("updated_at", DATETIME), bound(zone="America/New_York"), in_the_second_pass)
    assert str(found) == "2024-11-03T01:59:59.999999"


def test_the_highest_date_so_far_covers_its_whole_day() -> None:
    assert str(highest_reading(Cursor("day", DATE), bound(), NOON)) == "2024-02-01"


seconds = st.integers(
    int(datetime(2011, 12, 1, tzinfo=UTC).timestamp()), int(datetime(2030, 1, 1, tzinfo=UTC).timestamp())
)
instants = seconds.map(lambda count: datetime.fromtimestamp(count, UTC))
turns = st.sampled_from(
    [
        datetime(2024, 11, 3, 6, tzinfo=UTC),
        datetime(2024, 10, 27, 1, tzinfo=UTC),
        datetime(2024, 4, 6, 15, tzinfo=UTC),
        datetime(2024, 4, 6, 16, 30, tzinfo=UTC),
    ]
)
near_turns = st.builds(lambda turn, by: turn + by, turns, st.timedeltas(timedelta(hours=-3), timedelta(hours=3)))
offsets = st.sampled_from([0, 330, 345, -570]).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(instants | near_turns, st.timedeltas(timedelta(0), timedelta(hours=30)), st.sampled_from(ZONES), offsets)
def test_no_stamp_taken_later_reads_lower_and_none_taken_earlier_reads_higher(
    instant: datetime, distance: timedelta, zone: str, written_in: timezone
) -> None:
    """Whatever offset the driver writes the instant in."""
    cursor, found = Cursor("updated_at", DATETIME), bound(zone=zone)
    low = lowest_reading(cursor, found, instant.astimezone(written_in))
    high = highest_reading(cursor, found, instant.astimezone(written_in))
    later = (instant + distance).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    earlier = (instant - distance).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    assert low <= CursorValue.of(DATETIME, later)
    assert CursorValue.of(DATETIME, earlier) <= high


# --- sequences -----------------------------------------------------------------------------------------


BY_ID = orders(Strategy.APPEND, cursor="id")


def settled_number(
    found: Bound,
    highest: int | None,
    earlier: Settling | None = None,
    *,
    watermark: str | None = None,
    spec: TableSpec = BY_ID,
) -> Settled:
    assert spec.cursor is not None
    number = None if highest is None else CursorValue(INTEGER, str(highest))
    return settle(spec, spec.cursor, found, number, state(spec, watermark, earlier))


def pair(highest: int, clock: datetime) -> Settling:
    return Settling(CursorValue(INTEGER, str(highest)), clock)


def test_with_nobody_there_the_highest_number_is_settled_at_once() -> None:
    assert settled_number(bound(), 40) == Settled(
        CursorValue(INTEGER, "41"), Guarantee.SETTLED, "no transaction was open"
    )


def test_a_number_that_nothing_keeps_unique_settles_at_itself_so_that_another_row_of_it_is_read() -> None:
    several = replace(BY_ID.shape, primary_key=("id", "customer"))
    partly = replace(several, unique_keys=(("customer", "id"),))
    for shape in (replace(BY_ID.shape, primary_key=()), several, partly):
        assert str(settled_number(bound(), 40, spec=replace(BY_ID, shape=shape)).value) == "40"
        blind = settled_number(bound(blind="track_activities is off"), 40, spec=replace(BY_ID, shape=shape))
        assert str(blind.value) == "40"
    unique = replace(BY_ID.shape, primary_key=(), unique_keys=(("id",),))
    assert str(settled_number(bound(), 40, spec=replace(BY_ID, shape=unique)).value) == "41"
    held_back = replace(orders(Strategy.APPEND, cursor="id", holdback=10), shape=replace(BY_ID.shape, primary_key=()))
    assert str(settled_number(bound(), 40, spec=held_back).value) == "30", "numbers up to 30 are read, and 30 again"


def test_a_number_trails_by_a_run_while_somebody_may_hold_a_lower_one() -> None:
    found = settled_number(bound(oldest=NOON - timedelta(seconds=5)), 40)
    assert (found.value, found.settling) == (None, pair(40, NOON))


def test_it_settles_once_everybody_who_was_there_is_gone_although_others_came() -> None:
    found = settled_number(bound(NOON + timedelta(minutes=2), NOON + timedelta(minutes=1)), 60, pair(40, NOON))
    assert str(found.value) == "41"
    assert found.settling == pair(60, NOON + timedelta(minutes=2))


def test_it_waits_for_the_earlier_number_so_that_a_busy_table_settles_at_all() -> None:
    found = settled_number(
        bound(NOON + timedelta(minutes=2), NOON - timedelta(hours=1)), 60, pair(40, NOON), watermark="31"
    )
    assert (str(found.value), found.settling) == ("31", pair(40, NOON))


def test_a_number_whose_row_is_not_on_disk_yet_waits_until_it_is() -> None:
    """A crash would take the row back, and give its number out again."""
    seen = replace(bound(), written=900, flushed=899, started=NOON - timedelta(days=1))
    waits = settled_number(seen, 40)
    assert (waits.value, waits.settling) == (None, replace(pair(40, NOON), written=900))
    later = replace(seen, clock=NOON + timedelta(minutes=1), written=950)
    assert settled_number(later, 40, waits.settling).value is None
    assert str(settled_number(replace(later, flushed=900), 40, waits.settling).value) == "41"


@pytest.mark.parametrize("how", ["crash", "failover"])
def test_what_was_not_on_disk_before_a_crash_counts_no_more(how: str) -> None:
    kept, found = (
        SourceIdentity.of(1, 800, system="7001", database="shop"),
        SourceIdentity.of(2 if how == "failover" else 1, 990, system="7001", database="shop"),
    )
    started = NOON + timedelta(seconds=30) if how == "crash" else NOON - timedelta(days=1)
    clock = NOON + timedelta(minutes=1)
    back = replace(bound(clock), identity=found, written=1000, flushed=990, started=started)
    before = replace(state(BY_ID, "31", replace(pair(110, NOON), written=900)), identity=kept)
    assert BY_ID.cursor is not None
    after = settle(BY_ID, BY_ID.cursor, back, CursorValue(INTEGER, "104"), before)
    assert (str(after.value), after.settling) == ("31", replace(pair(104, clock), written=1000))


def test_an_idle_table_beside_busy_ones_waits_for_nothing() -> None:
    busy = bound(NOON + timedelta(minutes=2), NOON + timedelta(minutes=2))
    found = settled_number(busy, 40, watermark="41")
    assert (str(found.value), found.settling) == ("41", None)


def test_a_clock_that_was_put_back_by_a_second_does_not_settle_the_number_of_a_transaction_still_open() -> None:
    """It began at 12:00:00.5 and drew 39, the clock went back to 12:00:00, and 40 was seen: its begin looks later than the look."""
    began = NOON + timedelta(seconds=0.5)
    found = settled_number(bound(NOON + timedelta(minutes=1), began), 40, pair(40, NOON))
    assert found.value is None
    assert timedelta(seconds=0.5) < GUARD


def test_a_prepared_transaction_may_hold_any_number_below_the_highest() -> None:
    found = settled_number(bound(prepared="gx-1"), 60, pair(40, NOON - timedelta(minutes=1)), watermark="31")
    assert (str(found.value), found.settling) == ("31", pair(40, NOON - timedelta(minutes=1)))


def test_a_holdback_of_numbers_settles_as_many_below_the_highest() -> None:
    spec = orders(Strategy.APPEND, cursor="id", holdback=10)
    assert str(settled_number(bound(), 40, spec=spec).value) == "31"
    blind = settled_number(bound(blind="track_activities is off"), 40, spec=spec)
    assert (str(blind.value), blind.guarantee) == ("31", Guarantee.HOLDBACK)


def test_an_empty_table_settles_nothing() -> None:
    assert settled_number(bound(), None).value is None


def test_numbers_without_sight_of_the_transactions_are_a_best_effort() -> None:
    found = settled_number(bound(blind="track_activities is off"), 40)
    assert (str(found.value), found.guarantee) == ("41", Guarantee.BEST_EFFORT)
