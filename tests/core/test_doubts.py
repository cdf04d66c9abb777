"""What keeps a run from `settled`, whoever is open: how rows arrive, who draws the numbers, in which zone a role stamps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.doubts import alike, of_numbers, of_shown
from incremental_assets.core.captures.database.position import DatabasePosition, Settling
from incremental_assets.core.captures.database.settled_bound import Settled, settle, within_drawn
from incremental_assets.core.model.collation_key import collated
from incremental_assets.core.model.column import Sequence
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import Cursor, Span, Strategy, TableSpec
from incremental_assets.core.model.table_shape import Arrival, RoleZone
from tests.scenario import orders

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
BY_ID = orders(Strategy.APPEND, cursor="id")
FORTY = CursorValue(CursorType.INTEGER, "40")


def bound(oldest: datetime | None = None) -> Bound:
    return Bound(NOON, oldest, "", None, "", "UTC", None)


def drawn(sequence: Sequence | None, holdback: Span = 0) -> TableSpec:
    columns = tuple(replace(each, sequence=sequence) if each.name == "id" else each for each in BY_ID.columns)
    return replace(BY_ID, shape=replace(BY_ID.shape, columns=columns), holdback=holdback)


def test_a_row_that_has_brought_a_number_holds_the_watermark_where_the_sequence_is() -> None:
    spec, above = drawn(Sequence("public.ids", last=5)), FORTY.minus(-1)
    settled = Settled(above, Guarantee.SETTLED, "no transaction was open")
    found = within_drawn(spec, FORTY, 7, settled)
    assert (found.guarantee, str(found.value)) == (Guarantee.BEST_EFFORT, "8")
    assert "a row has 40 as its 'id', which it has brought itself, as the sequence public.ids is at 7" in found.reason
    for last in (None, 40, 41):
        assert within_drawn(spec, FORTY, last, settled) == settled
    waits = replace(settled, value=CursorValue(CursorType.INTEGER, "3"))
    assert within_drawn(spec, FORTY, 7, waits).value == waits.value
    # Where it has drawn nothing, it is known where it begins.
    assert within_drawn(drawn(Sequence("public.ids")), FORTY, 0, settled).guarantee is Guarantee.BEST_EFFORT


def test_numbers_of_a_sequence_that_the_user_may_not_see_are_a_best_effort_and_name_the_grant() -> None:
    spec = drawn(Sequence("public.ids", seen=False))
    assert spec.cursor is not None
    found = settle(spec, spec.cursor, bound(), FORTY, None)
    assert found.guarantee is Guarantee.BEST_EFFORT
    assert "GRANT SELECT ON SEQUENCE public.ids" in found.reason


@pytest.mark.parametrize("arrival", list(Arrival))
def test_rows_that_arrive_apart_from_their_stamping_are_a_best_effort(arrival: Arrival) -> None:
    spec = replace(orders(), shape=replace(orders().shape, arrivals=(arrival,)))
    assert spec.cursor is not None
    found = settle(spec, spec.cursor, bound(), None, None)
    assert (found.guarantee, str(found.value)) == (Guarantee.BEST_EFFORT, "2024-01-31T11:59:58Z")
    assert str(arrival) in found.reason
    held_back = replace(spec, holdback=timedelta(hours=1))
    found = settle(held_back, spec.cursor, bound(NOON - timedelta(hours=2)), None, None)
    assert (found.guarantee, str(found.value)) == (Guarantee.HOLDBACK, "2024-01-31T09:59:58Z"), (
        "a transaction that can be seen still counts"
    )


@pytest.mark.parametrize(
    ("sequence", "told"),
    [
        (None, "no default draws it"),
        (Sequence("public.ids", cache=10), "CACHE 10"),
        (Sequence("public.ids", step=-1), "counts down"),
        (Sequence("public.ids", cycles=True), "CYCLE"),
        (Sequence("public.ids", logged=False), "UNLOGGED"),
        (Sequence("public.ids", trigger="renumbers"), "the trigger renumbers may give 'id' another number"),
    ],
)
def test_numbers_that_may_come_from_below_are_a_best_effort_that_still_waits_for_who_is_open(
    sequence: Sequence | None, told: str
) -> None:
    spec = drawn(sequence)
    assert spec.cursor is not None
    quiet = settle(spec, spec.cursor, bound(), FORTY, None)
    assert (quiet.guarantee, str(quiet.value)) == (Guarantee.BEST_EFFORT, "41")
    assert told in quiet.reason
    busy = settle(spec, spec.cursor, bound(NOON - timedelta(minutes=1)), FORTY, None)
    assert (busy.value, busy.settling) == (None, Settling(FORTY, NOON))
    held_back = settle(drawn(sequence, holdback=10), spec.cursor, bound(), FORTY, None)
    assert (held_back.guarantee, str(held_back.value)) == (Guarantee.HOLDBACK, "31")


def shown_by(spec: TableSpec, why: str) -> TableSpec:
    columns = tuple(replace(each, shown_by=why) if each.name == "id" else each for each in spec.columns)
    return replace(spec, shape=replace(spec.shape, columns=columns))


def test_a_column_that_shows_more_than_its_row_is_a_best_effort_however_its_rows_are_followed() -> None:
    why = "a value of the type money is written as a setting says"
    by_stamp, by_number = shown_by(orders(), why), shown_by(drawn(Sequence("public.ids")), why)
    assert by_stamp.cursor is not None
    assert by_number.cursor is not None
    by_transaction = replace(by_number.cursor, by_transaction=True)
    found = [
        settle(by_stamp, by_stamp.cursor, bound(), None, None),
        settle(by_number, by_number.cursor, bound(), FORTY, None),
        settle(replace(by_number, cursor=by_transaction), by_transaction, bound(), FORTY, None),
    ]
    told = f"what 'id' shows does not depend on its row alone: {why}, and no stamp moves when that changes"
    assert [(each.guarantee, each.reason) for each in found] == [(Guarantee.BEST_EFFORT, told)] * 3
    assert of_shown(shown_by(orders(Strategy.FULL_REFRESH), why)) == ""
    assert of_shown(replace(by_stamp, cursor=None, compares=True)) == ""


@pytest.mark.parametrize(
    ("sequence", "promised"),
    [
        (Sequence("public.ids"), Guarantee.BEST_EFFORT),
        (Sequence("public.ids", last=3), Guarantee.BEST_EFFORT),
        (Sequence("public.ids", last=40), Guarantee.SETTLED),
        (Sequence("public.ids", restarts=False), Guarantee.SETTLED),
    ],
)
def test_numbers_that_may_have_begun_again_are_a_best_effort_unless_the_sequence_is_known_to_stand_above(
    sequence: Sequence, promised: Guarantee
) -> None:
    spec, five = drawn(sequence), CursorValue(CursorType.INTEGER, "5")
    assert spec.cursor is not None
    before = State("app", 1, "b", spec.terms, DatabasePosition(watermark=FORTY, max_cursor_read=FORTY))
    found = settle(spec, spec.cursor, bound(), five, before)
    assert found.guarantee is promised
    assert found.reason.startswith("the highest 'id' is 5 where 40 had been read") == (
        promised is Guarantee.BEST_EFFORT
    )
    assert settle(spec, spec.cursor, bound(), FORTY, before).guarantee is Guarantee.SETTLED


def test_an_event_trigger_at_login_makes_stamps_a_best_effort_and_numbers_not() -> None:
    logins = replace(bound(), login_trigger="noting")
    by_stamp = orders()
    assert by_stamp.cursor is not None
    assert BY_ID.cursor is not None
    found = settle(by_stamp, by_stamp.cursor, logins, None, None)
    assert (found.guarantee, "the event trigger noting" in found.reason) == (Guarantee.BEST_EFFORT, True)
    assert settle(BY_ID, BY_ID.cursor, logins, FORTY, None).guarantee is Guarantee.SETTLED


def test_a_fallback_draws_too_where_the_cursor_may_be_null() -> None:
    by_fallback = replace(BY_ID, cursor=Cursor("id", CursorType.INTEGER, fallback="customer"))
    assert of_numbers(by_fallback) == "", "the cursor is never NULL"
    columns = tuple(replace(each, nullable=True) if each.name == "id" else each for each in BY_ID.columns)
    nullable = replace(by_fallback, shape=replace(BY_ID.shape, columns=columns))
    assert "no default draws it" in of_numbers(nullable)
    same = tuple(replace(each, sequence=Sequence("public.ids"), nullable=True) for each in BY_ID.columns)
    assert of_numbers(replace(nullable, shape=replace(BY_ID.shape, columns=same))) == ""


@pytest.mark.parametrize(
    ("kind", "zone", "guarantee"),
    [
        (CursorType.DATETIME, "Asia/Tokyo", Guarantee.BEST_EFFORT),
        (CursorType.DATE, "Asia/Tokyo", Guarantee.BEST_EFFORT),
        (CursorType.DATETIME, "no such zone", Guarantee.BEST_EFFORT),
        (CursorType.DATETIME, "Etc/UTC", Guarantee.SETTLED),
        (CursorType.TIMESTAMP, "Asia/Tokyo", Guarantee.SETTLED),
    ],
)
def test_a_role_that_stamps_in_another_zone_is_named(kind: CursorType, zone: str, guarantee: Guarantee) -> None:
    cursor = Cursor("updated_at", kind)
    spec = replace(orders(), shape=replace(orders().shape, zones=(RoleZone("clerk", zone),)), cursor=cursor)
    found = settle(spec, cursor, bound(), None, None)
    assert found.guarantee is guarantee
    assert ("clerk" in found.reason) is (guarantee is Guarantee.BEST_EFFORT)


def test_zones_are_alike_that_read_alike_all_year() -> None:
    assert alike("Europe/Paris", "Europe/Berlin", NOON)
    assert not alike("Europe/Paris", "Africa/Algiers", NOON), "alike in winter"


def test_a_copy_of_an_earlier_release_whose_key_only_the_source_takes_for_equal_is_a_best_effort() -> None:
    plain = orders()
    columns = tuple(
        replace(each, collation="utf8mb4_general_ci padded") if each.name in plain.key else each
        for each in plain.columns
    )
    spec = replace(plain, shape=replace(plain.shape, columns=columns))
    assert spec.cursor is not None
    assert plain.cursor is not None
    found = settle(spec, spec.cursor, bound(), None, None)
    assert found.guarantee is Guarantee.BEST_EFFORT
    assert "utf8mb4_general_ci" in found.reason
    assert "--full-refresh` makes it anew" in found.reason
    appended = replace(spec, strategy=Strategy.APPEND)
    for each in (plain, collated(spec), appended):
        assert "for equal" not in settle(each, plain.cursor, bound(), None, None).reason
