"""Cursor values: one text per value, at full precision, in the order that time has."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.model.cursor import CursorType, CursorValue

DATE, DATETIME, TIMESTAMP, INTEGER = CursorType.DATE, CursorType.DATETIME, CursorType.TIMESTAMP, CursorType.INTEGER

# Where no offset moves a stamp across the ends of the calendar; hypothesis wants bounds without a zone.
EARLY, LATE = datetime(2, 1, 1), datetime(9997, 1, 1)  # noqa: DTZ001
aware = st.datetimes(
    EARLY,
    LATE,
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-5, minutes=-30)), timezone(timedelta(hours=14))]),
)


@pytest.mark.parametrize(
    ("kind", "written", "canonical"),
    [
        (TIMESTAMP, "2024-01-01 00:00:00.5+00", "2024-01-01T00:00:00.5Z"),
        (TIMESTAMP, "2024-01-01 00:00:00.500000+02", "2023-12-31T22:00:00.5Z"),
        (TIMESTAMP, "2024-01-01 05:30:00+05:30", "2024-01-01T00:00:00Z"),
        (TIMESTAMP, "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        (TIMESTAMP, "2024-01-01", "2024-01-01T00:00:00Z"),
        (TIMESTAMP, "10000-01-01 00:00:00+00", "10000-01-01T00:00:00Z"),
        (TIMESTAMP, "0044-03-15 12:00:00+00 BC", "0044-03-15T12:00:00Z BC"),
        (TIMESTAMP, "infinity", "infinity"),
        (TIMESTAMP, "2024-01-01 00:00:00.123456789", "2024-01-01T00:00:00.123456789Z"),
        (DATETIME, "2024-01-01 10:00:00.120", "2024-01-01T10:00:00.12"),
        (DATETIME, "2024-01-01 10:00", "2024-01-01T10:00:00"),
        (DATE, "2024-02-29", "2024-02-29"),
        (DATE, "0001-02-28 BC", "0001-02-28 BC"),
        (DATE, "294276-12-31", "294276-12-31"),
        (DATE, "5874897-12-31", "5874897-12-31"),
        (INTEGER, "+007", "7"),
        (INTEGER, "-12", "-12"),
        (INTEGER, "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
    ],
)
def test_what_postgresql_writes_becomes_one_canonical_text(kind: CursorType, written: str, canonical: str) -> None:
    assert CursorValue.parse(kind, written).text == canonical


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (DATE, "2023-02-29", "'2023-02-29' is no day of the calendar: day is out of range"),
        (DATE, "2024-01-01T10:00:00", "time of day"),
        (DATE, "yesterday", "2024-01-31"),
        (DATETIME, "2024-01-01T10:00:00Z", "has a zone"),
        (TIMESTAMP, "2024-01-01T24:00:00Z", "not a time of day"),
        (TIMESTAMP, "2024-13-01", "'2024-13-01' is no day of the calendar: month must be"),
        (TIMESTAMP, "0044-03-15 12:00:00+01 BC", "must be written in UTC"),
        (TIMESTAMP, "0001-01-01 00:00:00+14:00", "must be written in UTC"),
        (TIMESTAMP, "2024-01-01 00:00:00+16", "not an offset from UTC"),
        (TIMESTAMP, "2024-01-01 00:00:00-10:60", "not an offset from UTC"),
        (DATETIME, "0000-01-01 00:00:00", "the year 0"),
        (DATE, "0000-01-01", "the year 0"),
        (INTEGER, "1.0", "whole number"),
        (INTEGER, "infinity", "whole number"),
        (INTEGER, "", "whole number"),
    ],
)
def test_what_no_cursor_holds_is_refused(kind: CursorType, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        CursorValue.parse(kind, text)


def test_a_value_is_built_from_canonical_text_only() -> None:
    with pytest.raises(ValueError, match="canonical"):
        CursorValue(TIMESTAMP, "2024-01-01 00:00:00+00")


@given(aware, aware)
def test_timestamps_have_the_order_of_their_moments(first: datetime, second: datetime) -> None:
    one, other = CursorValue.of(TIMESTAMP, first), CursorValue.of(TIMESTAMP, second)
    assert (one < other, one == other) == (first < second, first == second)


@given(st.datetimes(), st.datetimes())
def test_datetimes_have_the_order_of_their_readings(first: datetime, second: datetime) -> None:
    assert (CursorValue.of(DATETIME, first) < CursorValue.of(DATETIME, second)) == (first < second)


@given(st.integers(-(10**30), 10**30), st.integers(-(10**30), 10**30))
def test_integers_have_the_order_of_numbers_and_not_of_text(first: int, second: int) -> None:
    assert (CursorValue.of(INTEGER, first) < CursorValue.of(INTEGER, second)) == (first < second)


def test_the_calendar_has_one_order_from_before_christ_to_infinity() -> None:
    ascending = [
        "-infinity",
        "0044-03-15 BC",
        "0001-12-31 BC",
        "0001-01-01",
        "9999-12-31",
        "10000-01-01",
        "294276-12-31",
        "infinity",
    ]
    values = [CursorValue.parse(DATE, text) for text in ascending]
    assert sorted(values) == values


def test_digits_below_the_microsecond_count() -> None:
    lower, upper = (
        CursorValue.parse(TIMESTAMP, f"2024-01-01T00:00:00.{digits}Z") for digits in ("000000001", "000000002")
    )
    assert lower < upper


def test_values_of_two_types_are_not_compared() -> None:
    with pytest.raises(TypeError, match="cannot be compared"):
        assert CursorValue(DATE, "2024-01-01") < CursorValue(DATETIME, "2024-01-01T00:00:00")


@given(
    st.sampled_from([DATETIME, TIMESTAMP]),
    st.datetimes(EARLY, LATE),
    st.sampled_from(["", "Z", "+02", "-05:30", " +0100"]),
)
def test_canonical_text_is_its_own_canonical_text(kind: CursorType, moment: datetime, zone: str) -> None:
    value = CursorValue.parse(kind, f"{moment}{zone if kind is TIMESTAMP else ''}")
    assert CursorValue.parse(kind, value.text) == value


@given(aware)
def test_a_moment_comes_back_as_it_went(moment: datetime) -> None:
    assert CursorValue.of(TIMESTAMP, moment).moment() == moment


@given(aware, st.timedeltas(timedelta(0), timedelta(days=365)))
def test_a_timestamp_moves_down_by_the_very_span(moment: datetime, span: timedelta) -> None:
    assert CursorValue.of(TIMESTAMP, moment).minus(span).moment() == moment - span


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (timedelta(), "2024-03-02"),
        (timedelta(minutes=15), "2024-03-01"),
        (timedelta(days=1), "2024-03-01"),
        (timedelta(hours=25), "2024-02-29"),
    ],
)
def test_a_date_moves_down_by_whole_days_so_that_nothing_is_missed(span: timedelta, expected: str) -> None:
    assert CursorValue(DATE, "2024-03-02").minus(span).text == expected


def test_an_integer_moves_down_by_a_number() -> None:
    assert CursorValue(INTEGER, "100").minus(1000) == CursorValue(INTEGER, "-900")


def test_nothing_moves_infinity_and_nothing_falls_out_of_the_calendar() -> None:
    assert CursorValue(TIMESTAMP, "infinity").minus(timedelta(days=1)).text == "infinity"
    assert CursorValue.of(DATE, date(1, 1, 1)).minus(timedelta(days=1)).text == "-infinity"


@pytest.mark.parametrize("text", ["infinity", "0044-03-15T12:00:00Z BC", "10000-01-01T00:00:00Z"])
def test_values_beyond_pythons_calendar_have_no_moment(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a moment|year"):
        CursorValue(TIMESTAMP, text).moment()


@pytest.mark.parametrize("text", ["0044-03-15T12:00:00Z BC", "10000-01-01T00:00:00Z"])
def test_a_lookback_from_beyond_pythons_calendar_reads_more_rather_than_less(text: str) -> None:
    assert CursorValue(TIMESTAMP, text).minus(timedelta(minutes=15)).text == "-infinity"
