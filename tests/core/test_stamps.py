"""Whose clock stamps a row, and how far the watermark stays behind for it: cut stamps, an application's, defaults and triggers that were altered."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.captures.database.settled_bound import settle
from incremental_assets.core.captures.database.stamps import (
    CURE,
    CURE_BY_SOURCE,
    of_stamps,
    restamped,
    stamps_seen,
    stamps_sentence,
)
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.checks.remember import remember
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.stamping import (
    BY_THE_SOURCE,
    Cut,
    Stamp,
    Stamping,
    StampsSeen,
    Unit,
    Unproven,
)
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec, cursor_of
from incremental_assets.core.model.table_shape import Arrival
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from tests.core.plans import NOON, landed, marks, moment, nothing, placed, planned, seen
from tests.core.stories import assert_equal, reset
from tests.fakes import World
from tests.scenario import ORDERS, order, orders, shop, stamped, written_by

SOURCE, NOBODY = Stamp(), Stamping()
HOUR = Cut(Unit.HOUR)


def by(stamps: Stamping | None, strategy: Strategy = Strategy.UPSERT, within: timedelta | None = None) -> TableSpec:
    """The orders, of which the catalogue shows this."""
    return written_by(orders(strategy), stamps, within)


def zoneless(stamps: Stamping, kind: CursorType = CursorType.DATETIME, zone: str | None = None) -> TableSpec:
    spec = by(stamps)
    shape = stamped(kind)
    columns = tuple(replace(each, stamps=stamps) if each.name == "updated_at" else each for each in shape.columns)
    return replace(spec, shape=replace(shape, columns=columns), cursor=Cursor("updated_at", kind, zone=zone))


def doubt(spec: TableSpec, zone: str = "UTC") -> str:
    return of_stamps(spec, zone, NOON)


# --- whose clock --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stamps", "strategy", "reason"),
    [
        (BY_THE_SOURCE, Strategy.UPSERT, ""),
        (Stamping(SOURCE), Strategy.APPEND, ""),
        (
            Stamping(SOURCE),
            Strategy.UPSERT,
            "no trigger of the database stamps 'updated_at' at an update: an application does",
        ),
        (
            Stamping(update=SOURCE),
            Strategy.APPEND,
            "neither a default nor a trigger of the database stamps 'updated_at'",
        ),
        (
            NOBODY,
            Strategy.APPEND,
            "neither a default nor a trigger of the database stamps 'updated_at': an application does",
        ),
        (Stamping(Unproven("its default is odd"), SOURCE), Strategy.UPSERT, "its default is odd"),
        (Stamping(SOURCE, Unproven("its trigger is off")), Strategy.UPSERT, "its trigger is off"),
        (Stamping(SOURCE, Unproven("its trigger is off")), Strategy.APPEND, ""),
        (None, Strategy.APPEND, "this source does not say what stamps 'updated_at'"),
    ],
)
def test_what_the_source_does_not_show_to_stamp_a_row_is_a_doubt(
    stamps: Stamping | None, strategy: Strategy, reason: str
) -> None:
    spec = by(stamps, strategy)
    assert spec.cursor is not None
    assert doubt(spec).startswith(reason)
    assert bool(doubt(spec)) is bool(reason)
    found = settle(spec, spec.cursor, seen().bound, None, None)
    assert found.guarantee is (Guarantee.BEST_EFFORT if reason else Guarantee.SETTLED)
    assert reason in found.reason
    held_back = replace(spec, holdback=timedelta(hours=1))
    assert settle(held_back, spec.cursor, seen().bound, None, None).guarantee is not Guarantee.BEST_EFFORT


@pytest.mark.parametrize("by_source", [True, False])
def test_rows_that_the_source_writes_without_a_stamp_are_promised_by_no_declaration(by_source: bool) -> None:
    spec = by(Stamping(SOURCE, Unproven("a foreign key changes its rows", by_source=by_source)))
    assert spec.cursor is not None
    declared = replace(spec, cursor=replace(spec.cursor, within=timedelta(minutes=1)))
    assert spec.cursor.within is None
    assert doubt(spec) == "a foreign key changes its rows"
    assert doubt(declared) == ("a foreign key changes its rows" if by_source else "")
    found = settle(declared, cursor_of(declared), seen().bound, None, None)
    assert found.guarantee is (Guarantee.BEST_EFFORT if by_source else Guarantee.SETTLED_WITHIN)
    sentence = stamps_sentence(spec, doubt(spec), landed=False)
    assert sentence.endswith(CURE_BY_SOURCE if by_source else CURE)


def test_a_column_that_has_no_value_yet_leaves_an_insert_to_its_fallback() -> None:
    spec = by(Stamping(update=SOURCE))
    assert spec.cursor is not None
    created = Column("created_at", "timestamptz", "timestamp", Fidelity.EXACT, nullable=False, stamps=Stamping(SOURCE))
    with_births = replace(
        spec,
        shape=replace(spec.shape, columns=(*spec.columns, created)),
        cursor=replace(spec.cursor, fallback="created_at"),
    )
    assert doubt(with_births) == ""
    born_elsewhere = replace(created, stamps=NOBODY)
    other = replace(with_births, shape=replace(spec.shape, columns=(*spec.columns, born_elsewhere)))
    assert "stamps 'created_at'" in doubt(other)


@pytest.mark.parametrize(("zone", "is_right"), [("UTC", True), ("Etc/UTC", True), ("Europe/Paris", False)])
def test_a_zone_that_an_expression_names_has_to_be_the_one_in_which_stamps_are_read(zone: str, is_right: bool) -> None:
    spec = zoneless(Stamping(Stamp(zone="UTC"), Stamp(zone="UTC")))
    assert (doubt(spec, zone) == "") is is_right
    assert ("`cursor: {zone: UTC}`" in doubt(spec, zone)) is not is_right


def test_rows_that_arrive_apart_from_their_stamping_are_one_doubt_and_not_two() -> None:
    spec = by(NOBODY)
    assert doubt(replace(spec, shape=replace(spec.shape, arrivals=(Arrival.VIEW,)))) == ""


# --- what is cut off ----------------------------------------------------------------------------------

moments = st.datetimes(datetime(1971, 1, 1), datetime(2060, 1, 1))  # noqa: DTZ001 - what a wall clock shows


@given(moments, moments, st.sampled_from(list(Unit)))
def test_no_stamp_is_cut_below_the_smallest_of_a_later_moment(one: datetime, other: datetime, unit: Unit) -> None:
    earlier, later = (CursorValue.of(CursorType.DATETIME, each) for each in sorted((one, other)))
    cut, elsewhere = Cut(unit), Cut(unit, aligned=False)
    assert cut.lowest(earlier) <= cut.lowest(later) <= later
    assert cut.lowest(cut.lowest(earlier)) == cut.lowest(earlier), "a moment that is cut is cut to itself"
    assert elsewhere.lowest(earlier) <= cut.lowest(earlier)


@pytest.mark.parametrize(
    ("unit", "begins"),
    [
        (Unit.SECOND, "2024-02-29T13:45:12"),
        (Unit.MINUTE, "2024-02-29T13:45:00"),
        (Unit.HOUR, "2024-02-29T13:00:00"),
        (Unit.DAY, "2024-02-29T00:00:00"),
        (Unit.WEEK, "2024-02-26T00:00:00"),
        (Unit.MONTH, "2024-02-01T00:00:00"),
        (Unit.QUARTER, "2024-01-01T00:00:00"),
        (Unit.YEAR, "2024-01-01T00:00:00"),
    ],
)
def test_a_unit_begins_where_the_database_says_that_it_does(unit: Unit, begins: str) -> None:
    value = CursorValue.parse(CursorType.DATETIME, "2024-02-29T13:45:12.75")
    assert str(Cut(unit).lowest(value)) == begins


@pytest.mark.parametrize("text", ["infinity", "-infinity", "0044-03-15 BC"])
def test_a_value_that_no_calendar_of_ours_holds_is_cut_to_no_later_one(text: str) -> None:
    value = CursorValue(CursorType.DATE, text)
    assert Cut(Unit.MONTH).lowest(value) <= value


@pytest.mark.parametrize(
    ("spec", "watermark"),
    [
        (zoneless(Stamping(Stamp((HOUR,)), SOURCE)), "2024-01-31T11:00:00"),
        (zoneless(Stamping(Stamp((Cut(Unit.DAY),)), SOURCE)), "2024-01-31T00:00:00"),
        (zoneless(Stamping(SOURCE, Stamp((Cut(Unit.MONTH),)))), "2024-01-01T00:00:00"),
        (zoneless(Stamping(SOURCE, SOURCE, (Cut(Unit.SECOND),))), "2024-01-31T11:59:57"),
        (zoneless(Stamping(Stamp((Cut(Unit.MONTH),)), SOURCE), CursorType.DATE), "2024-01-01"),
        (by(Stamping(Stamp((Cut(Unit.HOUR, aligned=False),)), SOURCE)), "2024-01-31T10:59:57.5Z"),
        (by(Stamping(Stamp((Cut(Unit.DAY, aligned=False),)), SOURCE)), "2024-01-30T09:59:57.5Z"),
    ],
)
def test_the_watermark_stays_at_the_beginning_of_what_stamps_are_cut_to(spec: TableSpec, watermark: str) -> None:
    clock = NOON - timedelta(seconds=0.5)
    found = planned(spec, None, seen(clock))
    assert str(found.reading.new_watermark) == watermark
    assert found.reading.settled.guarantee is Guarantee.SETTLED


def test_the_second_row_of_an_hour_lands_where_a_default_cuts_to_the_hour() -> None:
    world = World(shop())
    spec = by(Stamping(Stamp((Cut(Unit.HOUR, aligned=False),)), SOURCE))
    begun = world.database.clock.replace(minute=0, second=0, microsecond=0)
    for customer in ("ada", "grace", "barbara"):
        world.pass_time(600)
        order(world.database, customer, world.database.stamp(at=begun))
        world.pass_time(60)
        report = world.sync(spec)
        assert (report.status, report.guarantee) == (Status.LANDED, Guarantee.SETTLED)
    assert_equal(world)
    assert world.sync(spec).status is Status.IDLE


def test_a_watermark_from_before_a_stamp_was_known_to_be_cut_comes_down_once() -> None:
    spec = zoneless(Stamping(Stamp((HOUR,)), SOURCE))
    before = placed(landed(spec, CursorValue.parse(CursorType.DATETIME, "2024-01-31T11:59:58")), stamps=None)
    once = restamped(spec, before)
    assert once is not None
    assert str(once.position.watermark) == "2024-01-31T11:00:00"
    by_instant = by(Stamping(Stamp((Cut(Unit.HOUR, aligned=False),)), SOURCE))
    known = restamped(by_instant, landed(by_instant, moment("11:00:00")))
    assert known is not None
    assert known.position.watermark == moment("11:00:00"), "what was known by then is in it already"


def test_a_default_that_begins_to_cut_between_two_syncs_loses_no_row_of_that_hour() -> None:
    world = World(shop())
    cut = by(Stamping(Stamp((Cut(Unit.HOUR, aligned=False),)), SOURCE))
    begun = world.database.clock.replace(minute=0, second=0, microsecond=0)
    world.pass_time(1200)
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(by(BY_THE_SOURCE))
    order(world.database, "grace", world.database.stamp(at=begun))
    world.pass_time(60)
    world.sync(cut)
    assert_equal(world)


# --- what an application declares ---------------------------------------------------------------------

THIRTY = timedelta(seconds=30)
DECLARED = by(NOBODY, within=THIRTY)


def test_declared_stamps_are_settled_within_what_is_declared_and_no_further() -> None:
    found = planned(DECLARED, None, seen(oldest=NOON - timedelta(minutes=1)))
    assert (found.reading.settled.guarantee, found.reading.settled.within) == (Guarantee.SETTLED_WITHIN, THIRTY)
    assert str(found.reading.new_watermark) == "2024-01-31T11:58:28Z"
    assert found.reading.settled.reason.startswith("settled within 30s of the application's stamps")
    assert found.warnings == ()


def test_what_cannot_be_seen_is_no_better_for_a_declaration() -> None:
    assert DECLARED.cursor is not None
    blind = replace(seen().bound, blind="it cannot be seen")
    assert settle(DECLARED, DECLARED.cursor, blind, None, None).guarantee is Guarantee.BEST_EFFORT


def late(world: World, customer: str, lag: float) -> None:
    """A row that an application stamps so many seconds before its transaction begins."""
    order(world.database, customer, world.database.stamp(at=world.database.clock - timedelta(seconds=lag)))


def test_a_row_that_lags_as_long_as_declared_lands_and_nothing_is_said() -> None:
    world = World(shop())
    late(world, "ada", 5)
    world.pass_time(60)
    world.sync(DECLARED)
    late(world, "grace", 29)
    world.pass_time(60)
    report = world.sync(DECLARED)
    assert (report.guarantee, report.rows.late, report.warnings) == (Guarantee.SETTLED_WITHIN, 0, ())
    assert report.promise == "settled within 30s"
    assert_equal(world)


def test_a_row_that_lags_longer_is_reported_and_no_run_promises_more_until_more_is_declared() -> None:
    world = World(shop())
    late(world, "ada", 5)
    world.pass_time(60)
    world.sync(DECLARED)
    late(world, "grace", 50)
    world.pass_time(60)

    found = world.sync(DECLARED)
    assert (found.guarantee, found.rows.late, found.promise) == (Guarantee.BEST_EFFORT, 1, "best_effort")
    assert "1 row came later than 30s after 'updated_at' had been stamped" in found.guarantee_reason
    assert found.guarantee_reason in found.warnings
    assert_equal(world)

    again = world.sync(DECLARED)
    assert (again.status, again.guarantee) == (Status.IDLE, Guarantee.BEST_EFFORT)
    assert "later than the 30s that `stamped` allows" in again.guarantee_reason
    world.pass_time(60)
    longer = by(NOBODY, within=timedelta(minutes=1))
    assert world.sync(longer).guarantee is Guarantee.SETTLED_WITHIN
    reset(world, longer)
    assert world.sync(DECLARED).guarantee is Guarantee.SETTLED_WITHIN, "after a reset it is as if it had never been"


@pytest.mark.parametrize("how", ["repair", "backfill"])
def test_a_row_that_no_sync_has_seen_in_time_lowers_what_is_promised_when_it_is_read_again(how: str) -> None:
    world = World(shop())
    late(world, "ada", 5)
    world.pass_time(3600)
    world.sync(DECLARED)
    late(world, "grace", 600)
    world.pass_time(60)
    assert world.sync(DECLARED).promise == "settled within 30s"

    if how == "repair":
        reconciled = reconcile(DECLARED, None, world.ports())
        remember(DECLARED, reconciled, world.checkpoints)
        report = repair_table(DECLARED, None, "the-repair", world.ports()).report
    else:
        lower = CursorValue.of(CursorType.TIMESTAMP, world.database.clock - timedelta(seconds=1800))
        upper = CursorValue.of(CursorType.TIMESTAMP, world.database.clock - timedelta(seconds=120))
        report = world.backfill(DECLARED, Window(lower, upper))
    assert report.rows.inserted == 1
    assert report.promise == "best_effort"
    assert "1 row came later than 30s after 'updated_at' had been stamped" in report.guarantee_reason
    again = world.sync(DECLARED)
    assert (again.promise, "later than the 30s" in again.guarantee_reason) == ("best_effort", True)
    assert_equal(world)


def test_a_backfill_of_what_is_yet_to_settle_says_nothing_of_stamps() -> None:
    world = World(shop())
    late(world, "ada", 5)
    world.pass_time(3600)
    world.sync(DECLARED)
    late(world, "grace", 5)
    report = world.backfill(DECLARED, Window(None, None))
    assert (report.rows.inserted, report.promise) == (1, "settled within 30s")


def test_without_a_declaration_the_same_rows_land_as_far_as_they_are_seen_and_nothing_is_promised() -> None:
    world = World(shop())
    spec = by(NOBODY)
    late(world, "ada", 5)
    world.pass_time(60)
    first = world.sync(spec)
    assert first.guarantee is Guarantee.BEST_EFFORT
    assert [each for each in first.warnings if CURE in each] == list(first.warnings)
    late(world, "grace", 50)
    world.pass_time(60)
    second = world.sync(spec)
    assert (second.guarantee, second.warnings) == (Guarantee.BEST_EFFORT, ()), "it was said once"
    assert [row["customer"] for row in world.rows(ORDERS)] == ["ada"]


def test_a_longer_declaration_moves_the_watermark_down_and_a_shorter_one_does_not() -> None:
    state = landed(DECLARED, moment("11:00:00"))
    longer = restamped(by(NOBODY, within=timedelta(minutes=10)), state)
    shorter = restamped(by(NOBODY, within=timedelta(seconds=1)), state)
    assert longer is not None
    assert shorter is not None
    assert longer.position.watermark == moment("10:50:30")
    assert shorter.position.watermark == moment("11:00:00")


# --- what was altered meanwhile -----------------------------------------------------------------------


def test_a_trigger_that_was_altered_between_two_syncs_makes_one_run_a_best_effort_and_is_said_once() -> None:
    world = World(shop())
    before, after = (by(replace(BY_THE_SOURCE, marks=text)) for text in ("17", "18"))
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    assert world.sync(before).guarantee is Guarantee.SETTLED
    order(world.database, "grace", world.database.stamp())
    world.pass_time(60)
    altered = world.sync(after)
    assert altered.guarantee is Guarantee.BEST_EFFORT
    assert "was altered since the last sync" in altered.guarantee_reason
    assert any("finds rows that were missed" in each for each in altered.warnings)
    order(world.database, "alan", world.database.stamp())
    world.pass_time(60)
    assert world.sync(after).guarantee is Guarantee.SETTLED


def test_a_full_refresh_after_a_trigger_was_altered_is_settled_and_warns_of_nothing() -> None:
    world = World(shop())
    before, after = (by(replace(BY_THE_SOURCE, marks=text)) for text in ("17", "18"))
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(before)
    again = world.sync(after, mode=Mode.FULL_REFRESH)
    assert (again.guarantee, again.warnings) == (Guarantee.SETTLED, ())


def test_a_source_that_marks_its_schema_as_a_whole_says_that_a_trigger_may_have_been_altered() -> None:
    world = World(shop())
    before, after = (by(replace(BY_THE_SOURCE, marks=text, marks_more=True)) for text in ("17", "18"))
    order(world.database, "ada", world.database.stamp())
    world.pass_time(60)
    world.sync(before)
    reason = world.sync(after).guarantee_reason
    assert reason.startswith("something of the source's schema, and maybe the default or the trigger that stamps")


def test_an_idle_table_whose_trigger_was_altered_says_so_too() -> None:
    before, after = (by(replace(BY_THE_SOURCE, marks=text)) for text in ("17", "18"))
    mark = marks(moment("11:00:00"))
    state = landed(before, moment("11:00:00"), fingerprint=mark)
    found = nothing(after, state, seen(fingerprint=mark))
    assert found.guarantee is Guarantee.BEST_EFFORT
    assert found.state is not None
    assert (
        nothing(after, found.state, seen(fingerprint=found.state.position.fingerprint)).guarantee is Guarantee.SETTLED
    )


def test_a_table_that_was_settled_by_an_earlier_release_is_warned_of_once_and_a_document_of_then_is_read() -> None:
    spec = by(NOBODY)
    older = placed(landed(spec, moment("11:00:00")), stamps=None, updates=None)
    text = older.to_json().replace(',"stamps":null,"updates":null', "")
    assert state_of(text) == older
    (warning,) = (each for each in planned(spec, older, seen()).warnings if CURE in each)
    assert "incremental-assets check --select shop.public.orders" in warning
    known = placed(older, stamps=stamps_seen(spec, None, doubt(spec)))
    assert not any(CURE in each for each in planned(spec, known, seen()).warnings)


def test_what_is_known_of_stamps_comes_back_as_it_was() -> None:
    kept = StampsSeen((HOUR, Cut(Unit.DAY, aligned=False)), THIRTY, "17", proven=False, exceeded=timedelta(seconds=20))
    state = placed(landed(DECLARED, moment("11:00:00")), stamps=kept, updates=7)
    assert state_of(state.to_json()) == state
