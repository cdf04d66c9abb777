"""Stamps without a zone after a change of the zone: nothing that is stamped from now on lies below what is read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.captures.database.bound import Bound, LocalTime
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.local_readings import lowest_reading
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.position import DatabasePosition
from incremental_assets.core.captures.database.zones import rezoned
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.errors import ZoneDisputed, ZoneUnknown
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import CommitIds, Mode, Request, SyncPlan
from incremental_assets.core.preview.pending import look_over
from tests.core.plans import placed
from tests.scenario import COUNTRIES, ORDERS, countries, orders
from tests.snapshots import as_read

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
ZONES = ["UTC", "America/New_York", "Europe/Paris", "Asia/Tokyo", "Pacific/Apia", "Australia/Lord_Howe"]
OTHER = TableId("shop", "public", "returns")
LOCAL = Cursor("updated_at", CursorType.DATETIME)


def spec(kind: CursorType = CursorType.DATETIME, zone: str | None = None) -> TableSpec:
    return replace(orders(), cursor=Cursor("updated_at", kind, zone=zone))


def bound(zone: str, clock: datetime = NOON) -> Bound:
    return Bound(clock, None, "", None, "", zone, None)


def landed(watermark: CursorValue | None, zones: tuple[str, ...], kind: CursorType = CursorType.DATETIME) -> State:
    mark = Fingerprint(watermark, 1, "x", "17")
    return State(
        "app",
        3,
        "b",
        spec(kind).terms,
        DatabasePosition(watermark, fingerprint=mark, zones=zones, members=()),
        clock=NOON,
    )


def planned(terms: TableSpec, state: State, found: Bound) -> SyncPlan:
    decision = plan(
        terms,
        Request("run"),
        state,
        CommitIds("app", 4, "n"),
        DatabaseObservation(found, None, state.position.fingerprint),
    )
    assert isinstance(decision, SyncPlan), decision
    return decision


def first(terms: TableSpec, found: Bound) -> SyncPlan:
    decision = plan(terms, Request("run"), None, CommitIds("app", 1, "n"), DatabaseObservation(found))
    assert isinstance(decision, SyncPlan), decision
    return decision


def local(text: str) -> CursorValue:
    return CursorValue(CursorType.DATETIME, text)


def test_to_the_west_the_read_begins_by_the_hours_lower_and_says_so() -> None:
    state = landed(local("2024-01-31T11:59:58"), ("UTC",))
    found = planned(spec(), state, bound("America/New_York", NOON + timedelta(minutes=1)))
    assert str(found.reading.window.lower) == "2024-01-31T06:59:58"
    assert str(found.reading.new_watermark) == "2024-01-31T07:00:58"
    assert found.reading.settled.guarantee is Guarantee.BEST_EFFORT
    assert "read in UTC and now is in America/New_York" in found.reading.settled.reason
    assert [told for told in found.warnings if "went from 2024-01-31T11:59:58 to 2024-01-31T06:59:58" in told]
    after = landed_state(found, as_read(1, None, None))
    assert after.position.zones == ("America/New_York", "UTC")
    again = planned(spec(), placed(after, fingerprint=None), bound("America/New_York", NOON + timedelta(minutes=2)))
    assert (str(again.reading.window.lower), again.warnings[:1]) == ("2024-01-31T07:00:58", found.warnings[:1])
    assert again.reading.settled.guarantee is Guarantee.BEST_EFFORT


def test_to_the_east_old_sessions_keep_the_watermark_back() -> None:
    state = placed(landed(local("2024-01-31T11:59:58"), ("UTC",)), fingerprint=None)
    found = planned(spec(zone="Asia/Tokyo"), state, bound("UTC", NOON + timedelta(minutes=1)))
    assert (str(found.reading.window.lower), str(found.reading.new_watermark)) == (
        "2024-01-31T11:59:58",
        "2024-01-31T12:00:58",
    )
    assert landed_state(found, as_read(1, None, None)).position.zones == ("Asia/Tokyo", "UTC")


@pytest.mark.parametrize(
    ("kind", "zones", "zone"),
    [
        (CursorType.DATETIME, ("UTC",), "Etc/UTC"),
        (CursorType.DATETIME, (), "Asia/Tokyo"),
        (CursorType.TIMESTAMP, (), "Asia/Tokyo"),
    ],
)
def test_what_reads_alike_or_is_not_known_changes_nothing(kind: CursorType, zones: tuple[str, ...], zone: str) -> None:
    text = "2024-01-31T11:59:58" + ("Z" if kind is CursorType.TIMESTAMP else "")
    state = landed(CursorValue(kind, text), zones, kind)
    assert rezoned(spec(kind), state, bound(zone)) == state


def test_a_reset_forgets_the_zones() -> None:
    mark = local("2024-01-31T11:59:58")
    assert landed(mark, ("UTC", "Asia/Tokyo")).rewound(spec().terms, mark).position.zones == ()


def test_a_watermark_outside_of_the_calendar_is_reread_from_the_beginning() -> None:
    found = rezoned(spec(), landed(local("0001-01-01T00:00:00"), ("UTC",)), bound("Asia/Tokyo"))
    assert found is not None
    assert found.position.watermark is not None
    assert found.position.watermark <= local("0001-01-01T00:00:00")


def test_a_zone_whose_rules_the_source_knows_otherwise_stops_what_is_read_in_it_and_nothing_else() -> None:
    """The watermark would be an hour above what the source stamps: its time zone data are those of before the reform."""
    here = datetime(2024, 1, 31, 7)  # noqa: DTZ001 - what clocks on the wall show
    agreed = replace(bound("America/New_York"), local_times=(LocalTime("America/New_York", NOON, here),))
    late = replace(agreed, local_times=(LocalTime("America/New_York", NOON, here - timedelta(hours=1)),))
    assert first(spec(), agreed)
    with pytest.raises(
        ZoneDisputed,
        match=r"'updated_at' is read in America/New_York, where one moment is 2024-01-31 06:00 for the source and 2024-01-31 07:00",
    ):
        first(spec(), late)
    assert first(spec(zone="Asia/Tokyo"), late)
    assert first(spec(CursorType.TIMESTAMP), late)


@given(
    st.datetimes(datetime(2023, 1, 1), datetime(2025, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds the zone
    st.timedeltas(timedelta(0), timedelta(hours=40)),
    st.sampled_from(ZONES),
    st.sampled_from(ZONES),
    st.sampled_from([CursorType.DATETIME, CursorType.DATE]),
)
def test_nothing_stamped_later_in_either_zone_lies_below_what_is_read(
    settled: datetime, later: timedelta, was: str, now: str, kind: CursorType
) -> None:
    terms = spec(kind)
    assert terms.cursor is not None
    state = landed(lowest_reading(terms.cursor, bound(was), settled), (was,), kind)
    found = rezoned(terms, state, bound(now, settled + timedelta(hours=1)))
    assert found is not None
    assert found.position.watermark is not None
    for zone in (was, now):
        stamp = (settled + later).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert found.position.watermark <= CursorValue.of(kind, stamp)


# --- zones that only the database knows -----------------------------------------------------------


PARIS = "as `cursor: {zone: Europe/Paris}` does where that is the one"


@pytest.mark.parametrize(
    ("zone", "cure"),
    [
        ("5", PARIS),
        ("<+05:45>-05:45", "`cursor: {zone: Asia/Kathmandu}`, which is always at +05:45, or another such one"),
        ("-09:30", "`cursor: {zone: Pacific/Marquesas}`, which is always at -09:30, or another such one"),
        ("+13:45", PARIS),
        ("EST5EDT4,M3.2.0,M11.1.0", PARIS),
        ("localtime", PARIS),
        ("Europe", PARIS),
    ],
)
@pytest.mark.parametrize("kind", [CursorType.DATE, CursorType.DATETIME])
@pytest.mark.parametrize("mode", [Mode.SYNC, Mode.FULL_REFRESH])
def test_a_zone_that_only_the_database_knows_stops_the_table_in_one_sentence(
    zone: str, cure: str, kind: CursorType, mode: Mode
) -> None:
    with pytest.raises(ZoneUnknown) as refused:
        plan(spec(kind), Request("run", mode), None, CommitIds("app", 0, "n"), DatabaseObservation(bound(zone)))
    assert str(refused.value) == (
        f"shop.public.orders: the cursor 'updated_at' has no time zone and is read in the database's own, {zone!r}, which is not in the IANA time "
        f"zone database; name the zone in which it is stamped at this table: {cure}"
    )


def test_it_is_nothing_to_tables_that_do_not_need_it() -> None:
    found = DatabaseObservation(bound("5"))
    for table in (orders(), spec(zone="Europe/Paris"), countries()):
        decision = plan(table, Request("run"), None, CommitIds("app", 0, "n"), found)
        assert isinstance(decision, SyncPlan), table


def test_a_table_whose_plan_fails_for_whatever_reason_ends_the_look_at_no_other() -> None:
    unforeseen = landed(local("2024-01-31T11:59:58"), ("Mars/Olympus",))
    tables = [spec(zone="UTC"), replace(spec(), shape=replace(spec().shape, id=OTHER)), countries()]
    positions = {ORDERS: Checkpoint(state=unforeseen)}
    moved, stopped, still = look_over(tables, positions, [DatabaseObservation(bound("5"))] * 3)
    assert [each.spec.id for each in moved] == [COUNTRIES]
    assert [each.table for each in stopped] == [ORDERS, OTHER]
    assert stopped[0].sentence.startswith("shop.public.orders: unexpected ZoneInfoNotFoundError: ")
    assert stopped[1].sentence.startswith("shop.public.returns: the cursor 'updated_at' has no time zone")
    assert still == ()
