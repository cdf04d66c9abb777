"""What does one sync read, and where does its watermark go?"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.position import Settling
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.table import FuturePolicy, Strategy
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan
from tests.core.plans import NOON, REFRESH, SYNC, backfill, landed, marks, moment, nothing, number, planned, seen
from tests.scenario import countries, orders
from tests.snapshots import as_read

# --- the window and the watermark --------------------------------------------------------------------


def test_a_first_sync_reads_everything_and_stands_where_the_source_has_settled() -> None:
    found = planned(orders(), None, seen())
    assert (found.reading.window, found.reading.new_watermark) == (Window(None, None), moment("11:59:58"))


def test_a_later_sync_reads_from_the_watermark_to_whatever_the_snapshot_shows() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen())
    assert found.reading.window == Window(moment("11:00:00"), None)


def test_a_transaction_left_open_holds_the_watermark_and_not_the_rows() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen(oldest=NOON - timedelta(minutes=30)))
    assert (found.reading.window.upper, found.reading.new_watermark) == (None, moment("11:29:58"))


def test_a_transaction_older_than_the_watermark_does_not_take_it_back() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen(oldest=NOON - timedelta(hours=5)))
    assert found.reading.new_watermark == moment("11:00:00")


def test_lookback_reads_below_the_watermark_and_does_not_move_it() -> None:
    spec = orders(lookback=timedelta(minutes=15))
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.reading.window.lower, found.previous_watermark, found.reading.fingerprint_lower) == (
        moment("10:45:00"),
        moment("11:00:00"),
        moment("11:44:58"),
    )


def test_start_is_never_read_below_not_even_by_lookback() -> None:
    spec = orders(start="2024-01-31T10:50:00Z", lookback=timedelta(minutes=15))
    assert planned(spec, None, seen()).reading.window.lower == moment("10:50:00")
    assert planned(spec, landed(spec, moment("11:00:00")), seen()).reading.window.lower == moment("10:50:00")


def test_start_is_never_read_below_although_the_source_has_not_settled_that_far() -> None:
    spec = orders(start="2024-01-31T10:00:00Z")
    first = planned(spec, None, seen(oldest=NOON - timedelta(hours=5)))
    state = landed_state(first, as_read(1, moment("11:00:00"), None))
    assert planned(spec, state, seen()).reading.window.lower == moment("10:00:00")


def test_a_start_that_was_raised_into_the_future_leaves_the_watermark_where_it_is() -> None:
    spec = orders(start="2062-01-01T00:00:00Z")
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.reading.window.lower, found.reading.new_watermark, found.warnings) == (
        moment("11:00:00"),
        moment("11:59:58"),
        (),
    )


def test_a_watermark_reset_below_start_goes_below_start() -> None:
    spec = orders(start="2024-01-31T10:00:00Z")
    assert planned(spec, landed(spec, moment("09:00:00")), seen()).reading.window.lower == moment("09:00:00")


def test_holdback_reads_and_settles_no_higher_than_it_says() -> None:
    spec = orders(holdback=timedelta(minutes=15))
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.reading.window, found.reading.new_watermark) == (
        Window(moment("11:00:00"), moment("11:45:00")),
        moment("11:45:00"),
    )


def test_future_rows_that_wait_are_those_past_the_sources_clock() -> None:
    spec = orders(future=FuturePolicy.WAIT)
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.reading.window.upper, found.reading.future_above) == (moment("12:00:00"), moment("12:00:00"))


def test_what_is_warned_of_lies_past_the_clock_after_the_snapshot_and_the_watermark_is_as_before() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen())
    late = replace(found, reading=replace(found.reading, waited=timedelta(seconds=3)))
    assert (found.reading.told_above, late.reading.told_above) == (moment("12:00:00"), moment("12:00:03"))
    assert (late.reading.new_watermark, late.reading.future_above) == (found.reading.new_watermark, moment("12:00:00"))


def test_the_watermark_never_passes_what_was_read_even_if_the_highest_number_has_fallen() -> None:
    """100 was deleted; 85 was still open when 100 was seen, and lies between what a holdback lets be read now and then."""
    spec = orders(Strategy.APPEND, cursor="id", holdback=10)
    earlier = Settling(CursorValue(CursorType.INTEGER, "100"), NOON - timedelta(hours=1))
    found = planned(spec, landed(spec, number(50), settling=earlier), seen(highest=80))
    assert (found.reading.window.upper, found.reading.new_watermark) == (number(71), number(71))
    empty = nothing(spec, landed(spec, number(75), settling=earlier), seen(highest=80))
    assert empty.state is None or empty.state.position.watermark == number(75)


spans = st.sampled_from([0, timedelta(minutes=15), timedelta(days=3)])
minutes = st.integers(-600, 600).map(lambda count: NOON + timedelta(minutes=count))


@given(
    watermark=minutes,
    clock=minutes,
    oldest=st.none() | minutes,
    prepared=st.sampled_from([None, "gx"]),
    lookback=spans,
    holdback=spans,
    future=st.sampled_from(FuturePolicy),
)
def test_the_watermark_only_grows_and_passes_neither_the_bound_nor_what_is_read(
    watermark: datetime,
    clock: datetime,
    oldest: datetime | None,
    prepared: str | None,
    lookback: Span,
    holdback: Span,
    future: FuturePolicy,
) -> None:
    spec = orders(lookback=lookback, holdback=holdback, future=future)
    before = CursorValue.of(CursorType.TIMESTAMP, watermark)
    found = plan(
        spec, SYNC, landed(spec, before), CommitIds("app", 4, "b"), seen(clock, oldest=oldest, prepared=prepared)
    )
    after = (
        found.reading.new_watermark
        if isinstance(found, SyncPlan)
        else found.state.position.watermark
        if found.state
        else before
    )
    assert after is not None
    kept = NOON - timedelta(hours=1)
    if clock < kept - timedelta(seconds=1):
        # The clock was put back, which nothing but that says here.
        assert prepared is not None or after < CursorValue.of(CursorType.TIMESTAMP, clock)
        return
    assert after >= before
    if after > before:
        assert after <= CursorValue.of(CursorType.TIMESTAMP, min(clock, oldest or clock))
        assert prepared is None
        assert isinstance(found, SyncPlan)
        assert found.reading.window.upper is None or after <= found.reading.window.upper
        assert found.reading.fingerprint_lower is not None
        assert found.reading.window.lower is None or found.reading.window.lower <= found.reading.fingerprint_lower


# --- a table that is read whole ---------------------------------------------------------------------------


def test_a_whole_table_is_read_when_it_is_due_and_on_request() -> None:
    spec = countries()
    state = landed(spec, clock=NOON - timedelta(hours=23))
    assert nothing(spec, state, seen()).reason == "not due before 2024-01-31 13:00Z"
    assert planned(spec, state, seen(NOON + timedelta(hours=1))).overwrites
    assert planned(spec, state, seen(), REFRESH).overwrites
    assert planned(spec, state, seen(), Request("run", Mode.BACKFILL)).overwrites


# --- full refresh and backfill ------------------------------------------------------------------------------


def test_a_full_refresh_starts_from_start_and_may_take_the_watermark_back() -> None:
    spec = orders(start="2024-01-31T08:00:00Z")
    state = landed(
        spec, moment("13:00:00"), max_cursor_read=moment("13:00:00"), coverage=(Window(None, moment("13:00:00")),)
    )
    found = planned(spec, state, seen(), REFRESH)
    assert (found.reading.window.lower, found.reading.new_watermark) == (moment("08:00:00"), moment("11:59:58"))
    after = landed_state(found, as_read(5, moment("10:00:00"), None))
    assert (after.position.max_cursor_read, after.position.coverage) == (
        moment("10:00:00"),
        (Window(moment("08:00:00"), moment("11:59:58")),),
    )


def test_a_full_refresh_takes_on_new_terms_and_forgets_the_old_cursors_values() -> None:
    spec = orders(cursor="id")
    state = landed(
        orders(), moment("11:00:00"), max_cursor_read=moment("11:00:00"), coverage=(Window(None, moment("11:00:00")),)
    )
    after = landed_state(planned(spec, state, seen(highest=40), REFRESH), as_read(5, number(40), None))
    assert (after.terms, after.position.watermark, after.position.max_cursor_read) == (
        spec.terms,
        number(41),
        number(40),
    )


def test_a_backfill_reads_its_window_and_leaves_all_that_the_next_sync_goes_by_alone() -> None:
    spec = orders()
    waiting = marks(moment("11:00:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=waiting, max_cursor_read=moment("10:59:00"))
    found = planned(spec, state, seen(), backfill("08:00:00", "09:00:00"))
    after = landed_state(found, as_read(5, moment("08:59:00"), marks(None)))
    assert found.reading.window == Window(moment("08:00:00"), moment("09:00:00"))
    assert (after.position.watermark, after.position.fingerprint, after.clock) == (
        moment("11:00:00"),
        waiting,
        state.clock,
    )
    assert after.position.max_cursor_read == moment("10:59:00")
    assert after.position.coverage == (Window(moment("08:00:00"), moment("09:00:00")),)


def test_a_backfill_before_the_first_sync_leaves_the_whole_table_to_it() -> None:
    spec = orders(Strategy.APPEND)
    after = landed_state(
        planned(spec, None, seen(), backfill("08:00:00", "09:00:00")), as_read(5, moment("08:59:00"), marks(None))
    )
    assert (after.position.watermark, after.position.max_cursor_read) == (None, moment("08:59:00"))
    assert planned(spec, after, seen()).reading.window == Window(None, None)


def test_a_backfill_of_todays_window_covers_only_what_has_settled() -> None:
    spec = orders()
    found = planned(
        spec, landed(spec, moment("08:00:00")), seen(oldest=NOON - timedelta(hours=1)), backfill("10:00:00", "23:00:00")
    )
    assert landed_state(found, as_read(5, moment("11:59:59"), None)).position.coverage == (
        Window(moment("10:00:00"), moment("10:59:58")),
    )


def test_a_backfill_of_a_table_read_by_its_cursor_names_its_window() -> None:
    with pytest.raises(ValueError, match="names its window"):
        planned(orders(), None, seen(), Request("run", Mode.BACKFILL))
