"""What one sync reads and where its watermark goes, decided before anything is touched."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.errors import SourceExchanged, TermsChanged
from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.position import Position, Settling
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import Fingerprint, State
from incremental_assets.core.model.table import FuturePolicy, Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.bound import Bound
from incremental_assets.core.planning.landed_state import Shown, landed_state
from incremental_assets.core.planning.plan import CommitIds, Mode, NothingToDo, Observation, Request, SyncPlan
from incremental_assets.core.planning.planner import plan
from incremental_assets.core.planning.settled_bound import Guarantee
from tests.scenario import countries, orders

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
SHOP = SourceIdentity.of(1, 1000, system="7001", database="shop")
SYNC, REFRESH = Request("run"), Request("run", Mode.FULL_REFRESH)


def moment(text: str | None) -> CursorValue | None:
    return None if text is None else CursorValue.parse(CursorType.TIMESTAMP, f"2024-01-31T{text}Z")


def number(value: int | None) -> CursorValue | None:
    return None if value is None else CursorValue(CursorType.INTEGER, str(value))


def marks(lower: CursorValue | None, digest: str = "17") -> Fingerprint:
    return Fingerprint(lower, 1, "x", digest)


def seen(
    clock: datetime = NOON,
    *,
    oldest: datetime | None = None,
    highest: int | None = None,
    fingerprint: Fingerprint | None = None,
    identity: SourceIdentity | None = SHOP,
    prepared: str | None = None,
) -> Observation:
    return Observation(Bound(clock, oldest, "", prepared, "", "UTC", identity), number(highest), fingerprint)


def landed(
    spec: TableSpec,
    watermark: CursorValue | None = None,
    *,
    max_cursor_read: CursorValue | None = None,
    settling: Settling | None = None,
    **changes: object,
) -> State:
    position = Position(watermark, max_cursor_read, settling)
    kept = State("app", 3, "batch", spec.terms, position, identity=SHOP, clock=NOON - timedelta(hours=1))
    return replace(kept, **changes)  # type: ignore[arg-type]


def planned(spec: TableSpec, state: State | None, observation: Observation, request: Request = SYNC) -> SyncPlan:
    found = plan(spec, request, state, CommitIds("app", 4, "next"), observation)
    assert isinstance(found, SyncPlan)
    return found


def nothing(spec: TableSpec, state: State, observation: Observation) -> NothingToDo:
    found = plan(spec, SYNC, state, CommitIds("app", 4, "next"), observation)
    assert isinstance(found, NothingToDo)
    return found


# --- the window and the watermark --------------------------------------------------------------------


def test_a_first_sync_reads_everything_and_stands_where_the_source_has_settled() -> None:
    found = planned(orders(), None, seen())
    assert (found.window, found.new_watermark) == (Window(None, None), moment("11:59:58"))


def test_a_later_sync_reads_from_the_watermark_to_whatever_the_snapshot_shows() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen())
    assert found.window == Window(moment("11:00:00"), None)


def test_a_transaction_left_open_holds_the_watermark_and_not_the_rows() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen(oldest=NOON - timedelta(minutes=30)))
    assert (found.window.upper, found.new_watermark) == (None, moment("11:29:58"))


def test_a_transaction_older_than_the_watermark_does_not_take_it_back() -> None:
    found = planned(orders(), landed(orders(), moment("11:00:00")), seen(oldest=NOON - timedelta(hours=5)))
    assert found.new_watermark == moment("11:00:00")


def test_lookback_reads_below_the_watermark_and_does_not_move_it() -> None:
    spec = orders(lookback=timedelta(minutes=15))
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.window.lower, found.previous_watermark, found.fingerprint_lower) == (
        moment("10:45:00"),
        moment("11:00:00"),
        moment("11:44:58"),
    )


def test_start_is_never_read_below_not_even_by_lookback() -> None:
    spec = orders(start="2024-01-31T10:50:00Z", lookback=timedelta(minutes=15))
    assert planned(spec, None, seen()).window.lower == moment("10:50:00")
    assert planned(spec, landed(spec, moment("11:00:00")), seen()).window.lower == moment("10:50:00")


def test_start_is_never_read_below_although_the_source_has_not_settled_that_far() -> None:
    spec = orders(start="2024-01-31T10:00:00Z")
    first = planned(spec, None, seen(oldest=NOON - timedelta(hours=5)))
    state = landed_state(first, Shown(1, moment("11:00:00"), None))
    assert planned(spec, state, seen()).window.lower == moment("10:00:00")


@pytest.mark.parametrize("seq", [1, 2], ids=["its first sync", "one after it"])
def test_a_start_in_the_future_is_told_and_its_correction_reads_all_that_was_asked_for(seq: int) -> None:
    typed, meant = orders(start="2062-01-01T00:00:00Z"), orders(start="2024-01-31T10:00:00Z")
    first = planned(typed, None, seen())
    state = landed_state(first, Shown(0, None, marks(first.fingerprint_lower)))
    if seq == 2:
        state = landed_state(
            planned(typed, state, seen(fingerprint=marks(None))), Shown(0, None, marks(first.fingerprint_lower))
        )
    assert (first.new_watermark, state.position.watermark, state.coverage) == (None, None, ())
    (told,) = first.warnings
    assert told.startswith("`start` is 2062-01-01T00:00:00Z, and the source is at 2024-01-31T12:00:00Z: no row is read")

    found = planned(meant, state, seen(fingerprint=state.fingerprint))
    assert (found.window.lower, found.new_watermark, found.warnings) == (
        moment("10:00:00"),
        moment("11:59:58"),
        (),
    )


def test_a_start_above_the_highest_number_is_told_and_its_correction_reads_all_that_was_asked_for() -> None:
    typed, meant = orders(cursor="id", start="1000"), orders(cursor="id", start="1")
    first = planned(typed, None, seen(highest=2))
    assert (first.new_watermark, ["`start` is 1000" in told for told in first.warnings]) == (None, [True])
    state = landed_state(first, Shown(0, None, marks(number(1000))))
    later = seen(NOON + timedelta(minutes=1), highest=3, fingerprint=state.fingerprint)
    idle = nothing(typed, state, later)
    assert (idle.state and idle.state.position.watermark, ["`start` is 1000" in told for told in idle.warnings]) == (
        None,
        [True],
    )
    assert planned(meant, idle.state or state, later).window.lower == number(1)
    assert planned(typed, None, seen(highest=1000)).warnings == ()


def test_a_start_that_was_raised_into_the_future_leaves_the_watermark_where_it_is() -> None:
    spec = orders(start="2062-01-01T00:00:00Z")
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.window.lower, found.new_watermark, found.warnings) == (moment("11:00:00"), moment("11:59:58"), ())


def test_a_watermark_reset_below_start_goes_below_start() -> None:
    spec = orders(start="2024-01-31T10:00:00Z")
    assert planned(spec, landed(spec, moment("09:00:00")), seen()).window.lower == moment("09:00:00")


def test_holdback_reads_and_settles_no_higher_than_it_says() -> None:
    spec = orders(holdback=timedelta(minutes=15))
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.window, found.new_watermark) == (Window(moment("11:00:00"), moment("11:45:00")), moment("11:45:00"))


def test_future_rows_that_wait_are_those_past_the_sources_clock() -> None:
    spec = orders(future=FuturePolicy.WAIT)
    found = planned(spec, landed(spec, moment("11:00:00")), seen())
    assert (found.window.upper, found.future_above) == (moment("12:00:00"), moment("12:00:00"))


def test_the_watermark_never_passes_what_was_read_even_if_the_highest_number_has_fallen() -> None:
    """100 was deleted; 85 was still open when 100 was seen, and lies between what a holdback lets be read now and then."""
    spec = orders(Strategy.APPEND, cursor="id", holdback=10)
    earlier = Settling(CursorValue(CursorType.INTEGER, "100"), NOON - timedelta(hours=1))
    found = planned(spec, landed(spec, number(50), settling=earlier), seen(highest=80))
    assert (found.window.upper, found.new_watermark) == (number(71), number(71))
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
        found.new_watermark
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
        assert found.window.upper is None or after <= found.window.upper
        assert found.fingerprint_lower is not None
        assert found.window.lower is None or found.window.lower <= found.fingerprint_lower


# --- nothing moved -------------------------------------------------------------------------------------


def test_an_equal_fingerprint_means_nothing_to_do_and_the_watermark_moves_to_the_bound() -> None:
    spec, mark = orders(), marks(moment("11:00:00"))
    found = nothing(spec, landed(spec, moment("11:00:00"), fingerprint=mark), seen(fingerprint=mark))
    assert found.state is not None
    assert found.state.position.watermark == moment("11:59:58")


def test_what_settled_while_nothing_moved_is_covered_without_a_gap() -> None:
    spec, mark = orders(), marks(moment("11:00:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=mark, coverage=(Window(None, moment("11:00:00")),))
    found = nothing(spec, state, seen(fingerprint=mark))
    assert found.state is not None
    assert found.state.coverage == (Window(None, moment("11:59:58")),)
    following = planned(spec, found.state, seen(NOON + timedelta(hours=1)))
    assert landed_state(following, Shown(1, None, None)).coverage == (Window(None, moment("12:59:58")),)


def test_nothing_is_recorded_while_even_the_bound_stands_still() -> None:
    spec, mark = orders(), marks(moment("11:00:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=mark)
    assert nothing(spec, state, seen(oldest=NOON - timedelta(hours=5), fingerprint=mark)).state is None


def test_another_fingerprint_means_that_something_moved() -> None:
    spec = orders()
    state = landed(spec, moment("11:00:00"), fingerprint=marks(moment("11:00:00"), "17"))
    assert planned(spec, state, seen(fingerprint=marks(moment("11:00:00"), "18"))).window.lower == moment("11:00:00")


def test_without_a_kept_fingerprint_everything_may_have_moved() -> None:
    assert planned(orders(), landed(orders(), moment("11:00:00")), seen()).window.lower == moment("11:00:00")


def test_a_fingerprint_that_does_not_reach_down_to_what_would_be_read_says_nothing() -> None:
    """The lookback was raised since: rows below the old reach may have come late."""
    spec, mark = orders(lookback=timedelta(hours=2)), marks(moment("10:45:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=mark)
    assert planned(spec, state, seen(fingerprint=mark)).window.lower == moment("09:00:00")


def test_numbers_that_settle_while_nothing_moves_are_kept_as_settled() -> None:
    spec, mark = orders(Strategy.APPEND, cursor="id"), marks(number(31))
    waiting = Settling(CursorValue(CursorType.INTEGER, "40"), NOON - timedelta(hours=1))
    found = nothing(
        spec, landed(spec, number(31), fingerprint=mark, settling=waiting), seen(highest=40, fingerprint=mark)
    )
    assert found.state is not None
    assert (found.state.position.watermark, found.state.position.settling) == (number(41), None)


def test_a_highest_number_below_what_was_read_is_warned_about_whether_anything_moved_or_not() -> None:
    spec, mark = orders(Strategy.APPEND, cursor="id"), marks(number(31))
    covered = (Window(None, number(31)),)
    state = landed(spec, number(31), fingerprint=mark, max_cursor_read=number(40), coverage=covered)
    told = nothing(spec, state, seen(highest=5, fingerprint=mark)).warnings
    assert len(told) == 1
    assert re.search(
        r"highest 'id' in the source is 5 where 40 had been read.*reset --select shop\.public\.orders", told[0]
    )
    assert planned(spec, state, seen(highest=5, fingerprint=marks(number(31), "18"))).warnings == told
    assert nothing(spec, state, seen(highest=40, fingerprint=mark)).warnings == ()
    assert planned(spec, state, seen(highest=5), REFRESH).warnings == ()


def test_another_timeline_of_the_same_source_is_warned_about_and_goes_on() -> None:
    mark, promoted = marks(moment("10:00:00")), replace(SHOP, timeline=2, position=2000)
    covered = (Window(None, moment("10:00:00")),)
    state = landed(orders(), moment("10:00:00"), fingerprint=mark, coverage=covered)
    told = nothing(orders(), state, seen(fingerprint=mark, identity=promoted)).warnings
    assert len(told) == 1
    assert "from timeline 1 to 2" in told[0]
    assert (
        planned(orders(), state, seen(fingerprint=marks(moment("10:00:00"), "18"), identity=promoted)).warnings == told
    )
    assert (
        planned(countries(), landed(countries(), clock=NOON - timedelta(days=2)), seen(identity=promoted)).warnings
        == told
    )


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
    assert (found.window.lower, found.new_watermark) == (moment("08:00:00"), moment("11:59:58"))
    after = landed_state(found, Shown(5, moment("10:00:00"), None))
    assert (after.position.max_cursor_read, after.coverage) == (
        moment("10:00:00"),
        (Window(moment("08:00:00"), moment("11:59:58")),),
    )


def test_a_full_refresh_takes_on_new_terms_and_forgets_the_old_cursors_values() -> None:
    spec = orders(cursor="id")
    state = landed(
        orders(), moment("11:00:00"), max_cursor_read=moment("11:00:00"), coverage=(Window(None, moment("11:00:00")),)
    )
    after = landed_state(planned(spec, state, seen(highest=40), REFRESH), Shown(5, number(40), None))
    assert (after.terms, after.position.watermark, after.position.max_cursor_read) == (
        spec.terms,
        number(41),
        number(40),
    )


def backfill(lower: str, upper: str) -> Request:
    return Request("run", Mode.BACKFILL, Window(moment(lower), moment(upper)))


def test_a_backfill_reads_its_window_and_leaves_all_that_the_next_sync_goes_by_alone() -> None:
    spec = orders()
    waiting = marks(moment("11:00:00"))
    state = landed(spec, moment("11:00:00"), fingerprint=waiting, max_cursor_read=moment("10:59:00"))
    found = planned(spec, state, seen(), backfill("08:00:00", "09:00:00"))
    after = landed_state(found, Shown(5, moment("08:59:00"), marks(None)))
    assert found.window == Window(moment("08:00:00"), moment("09:00:00"))
    assert (after.position.watermark, after.fingerprint, after.clock) == (moment("11:00:00"), waiting, state.clock)
    assert after.position.max_cursor_read == moment("10:59:00")
    assert after.coverage == (Window(moment("08:00:00"), moment("09:00:00")),)


def test_a_backfill_before_the_first_sync_leaves_the_whole_table_to_it() -> None:
    spec = orders(Strategy.APPEND)
    after = landed_state(
        planned(spec, None, seen(), backfill("08:00:00", "09:00:00")), Shown(5, moment("08:59:00"), marks(None))
    )
    assert (after.position.watermark, after.position.max_cursor_read) == (None, moment("08:59:00"))
    assert planned(spec, after, seen()).window == Window(None, None)


def test_a_backfill_of_todays_window_covers_only_what_has_settled() -> None:
    spec = orders()
    found = planned(
        spec, landed(spec, moment("08:00:00")), seen(oldest=NOON - timedelta(hours=1)), backfill("10:00:00", "23:00:00")
    )
    assert landed_state(found, Shown(5, moment("11:59:59"), None)).coverage == (
        Window(moment("10:00:00"), moment("10:59:58")),
    )


def test_a_backfill_of_a_table_read_by_its_cursor_names_its_window() -> None:
    with pytest.raises(ValueError, match="names its window"):
        planned(orders(), None, seen(), Request("run", Mode.BACKFILL))


# --- late rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("highest", "late_below"),
    [
        ("10:58:00", "10:58:00"),  # provisional rows were read up to there
        ("09:30:00", "10:00:00"),  # nothing above the watermark: below it all was settled
        (None, "10:00:00"),
    ],
)
def test_what_lands_first_from_below_what_had_been_read_is_late(highest: str | None, late_below: str) -> None:
    state = landed(orders(), moment("10:00:00"), max_cursor_read=moment(highest))
    assert planned(orders(), state, seen()).late_below == moment(late_below)


def test_a_row_from_the_future_does_not_make_all_that_follows_late() -> None:
    state = landed(orders(), moment("10:00:00"), max_cursor_read=CursorValue.parse(CursorType.TIMESTAMP, "2999-12-31"))
    assert planned(orders(), state, seen()).late_below == moment("11:00:00")


def test_nothing_is_late_on_a_first_sync_in_a_backfill_or_after_a_reset() -> None:
    spec, state = orders(), landed(orders(), moment("10:00:00"))
    assert planned(spec, None, seen()).late_below is None
    assert planned(spec, state, seen(), backfill("08:00:00", "09:00:00")).late_below is None
    assert planned(spec, state.rewound(spec.terms, None), seen()).late_below is None


@pytest.mark.parametrize("start", ["09:00:00", None], ids=["lowered", "taken away"])
def test_a_start_that_was_lowered_is_told_until_the_rows_are_read(start: str | None) -> None:
    covered = Window(moment("10:00:00"), moment("10:30:00"))
    state = landed(orders(), moment("10:30:00"), coverage=(covered,))
    assert planned(replace(orders(), start=moment("10:00:00")), state, seen()).warnings == ()
    lowered = replace(orders(), start=moment(start))
    (told,) = planned(lowered, state, seen()).warnings
    assert "is below 2024-01-31T10:00:00Z were never read: read them with `incremental-assets reset" in told
    assert planned(lowered, state.rewound(lowered.terms, None), seen()).warnings == ()


def test_every_hole_that_a_backfill_leaves_below_the_watermark_is_told() -> None:
    spec = orders(start="2024-01-31T06:00:00Z")
    state = landed(spec, moment("10:30:00"), coverage=(Window(moment("10:00:00"), moment("10:30:00")),))
    part = landed_state(
        planned(spec, state, seen(), backfill("06:00:00", "08:00:00")), Shown(5, moment("07:59:00"), None)
    )
    (told,) = planned(spec, part, seen()).warnings
    assert "is from 2024-01-31T08:00:00Z to below 2024-01-31T10:00:00Z were never read" in told

    more = landed_state(
        planned(spec, state, seen(), backfill("07:00:00", "08:00:00")), Shown(5, moment("07:59:00"), None)
    )
    (told,) = planned(spec, more, seen()).warnings
    assert (
        "is below 2024-01-31T07:00:00Z or from 2024-01-31T08:00:00Z to below 2024-01-31T10:00:00Z were never read"
        in told
    )

    rest = landed_state(
        planned(spec, part, seen(), backfill("08:00:00", "10:00:00")), Shown(5, moment("09:59:00"), None)
    )
    assert planned(spec, rest, seen()).warnings == ()


def test_a_watermark_below_which_nothing_was_covered_is_told() -> None:
    spec = orders(start="2024-01-31T06:00:00Z")
    (told,) = planned(spec, landed(spec, moment("10:30:00")), seen()).warnings
    assert "is below 2024-01-31T10:30:00Z were never read" in told


def test_a_source_that_does_not_say_which_database_it_is_is_told_and_what_was_known_of_it_is_kept() -> None:
    state = landed(orders(), moment("10:00:00"))
    assert state.identity is not None
    bound = replace(seen().bound, identity=None)
    found = planned(orders(), state, replace(seen(), bound=bound))
    assert "does not say which database it is" in found.warnings[0]
    assert landed_state(found, Shown(1, None, None)).identity == state.identity


# --- what stops a sync before it begins --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (SourceIdentity.of(1, 5000, system="7002", database="shop"), "system 7002, was 7001"),
        (SourceIdentity.of(1, 5000, system="7001", database="shop_copy"), "database shop_copy, was shop"),
        (SourceIdentity.of(2, 999, system="7001", database="shop"), "restored from an older copy"),
    ],
)
@pytest.mark.parametrize("request_", [SYNC, backfill("08:00:00", "09:00:00")], ids=["sync", "backfill"])
def test_another_source_or_an_older_copy_of_it_is_not_read(
    found: SourceIdentity, named: str, request_: Request
) -> None:
    with pytest.raises(SourceExchanged, match=named):
        planned(orders(), landed(orders(), moment("11:00:00")), seen(identity=found), request_)


def test_a_failover_to_a_replica_goes_on() -> None:
    state = landed(orders(), moment("11:00:00"))
    assert planned(
        orders(), state, seen(identity=SourceIdentity.of(2, 1001, system="7001", database="shop"))
    ).window.lower == moment("11:00:00")


def behind(minutes: int, *, replica: bool = True, timeline: int = 1) -> Observation:
    """So long after the last sync, a server answers that is a byte behind what that had seen."""
    found = seen(
        NOON - timedelta(hours=1) + timedelta(minutes=minutes),
        identity=SourceIdentity.of(timeline, 999, system="7001", database="shop"),
    )
    return replace(found, bound=replace(found.bound, replica=replica))


@pytest.mark.parametrize("spec", [orders(), countries()], ids=["incremental", "whole"])
def test_from_a_replica_that_lags_behind_another_nothing_is_read_and_nothing_stops(spec: TableSpec) -> None:
    found = nothing(spec, landed(spec), behind(59))
    assert (found.guarantee, found.state) == (Guarantee.BEST_EFFORT, None)
    assert found.warnings == (found.guarantee_reason,)
    assert "yet to replay 1 bytes" in found.guarantee_reason


@pytest.mark.parametrize(
    ("observation", "request_"),
    [
        (behind(61), SYNC),
        (behind(59, replica=False), SYNC),
        (behind(59, timeline=0), SYNC),
        (behind(59), backfill("08:00:00", "09:00:00")),
    ],
    ids=["for an hour", "a primary", "an older timeline", "a backfill"],
)
def test_what_is_behind_and_cannot_be_a_lag_still_stops(observation: Observation, request_: Request) -> None:
    with pytest.raises(SourceExchanged, match="before the 1,000 of the last sync"):
        planned(orders(), landed(orders(), moment("11:00:00")), observation, request_)


def test_a_run_on_another_timeline_is_a_best_effort() -> None:
    state = landed(orders(), moment("11:00:00"))
    found = planned(orders(), state, seen(identity=SourceIdentity.of(2, 1001, system="7001", database="shop")))
    assert found.settled.guarantee is Guarantee.BEST_EFFORT
    assert "from timeline 1 to 2" in found.settled.reason


def test_a_full_refresh_accepts_the_new_source_and_keeps_its_identity() -> None:
    other = SourceIdentity.of(1, 3, system="7002", database="shop")
    after = landed_state(
        planned(orders(), landed(orders(), moment("11:00:00")), seen(identity=other), REFRESH), Shown(1, None, None)
    )
    assert after.identity == other


@pytest.mark.parametrize(
    ("now", "named"),
    [
        (orders(Strategy.APPEND), "strategy upsert -> append"),
        (orders(cursor="id"), "cursor updated_at:timestamp -> id:integer"),
        (replace(orders(), key=("id", "customer")), "key id -> id, customer"),
        (orders(Strategy.FULL_REFRESH), "strategy upsert -> full_refresh"),
    ],
)
def test_changed_terms_are_refused_by_name(now: TableSpec, named: str) -> None:
    with pytest.raises(TermsChanged, match=named):
        planned(now, landed(orders(), moment("11:00:00")), seen())


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ("2024-01-31T11:00:00Z", ["is 2024-01-31T11:00:00Z where 2024-01-31T11:30:00Z had been read"]),
        (None, ["is below 2024-01-31T10:00:00Z where 2024-01-31T11:30:00Z had been read"]),
        ("2024-01-31T11:30:00Z", []),
        ("2024-01-31T11:45:00Z", []),
    ],
)
def test_a_latest_stamp_that_is_gone_is_said(now: str | None, words: list[str]) -> None:
    lower = CursorValue(CursorType.TIMESTAMP, "2024-01-31T10:00:00Z")
    state = landed(orders(), lower, fingerprint=Fingerprint(lower, 2, "2024-01-31T11:30:00Z", "1"))
    found = planned(orders(), state, seen(fingerprint=Fingerprint(lower, 1, now, "2")))
    assert [warning for warning in found.warnings if "the latest" in warning] == [
        warning for warning in found.warnings if any(word in warning for word in words)
    ]
    assert len([warning for warning in found.warnings if "the latest" in warning]) == len(words)
