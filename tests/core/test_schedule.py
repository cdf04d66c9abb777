"""Tests of cron expressions and quiet times, as values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.schedule import Schedule


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 6 * * 1-5", "2024-05-03T05:59", "2024-05-03T06:00"),  # a Friday
        ("0 6 * * 1-5", "2024-05-03T06:00", "2024-05-06T06:00"),
        ("0 6 * * mon-fri", "2024-05-04T12:00", "2024-05-06T06:00"),
        ("*/15 * * * *", "2024-05-03T06:07:30", "2024-05-03T06:15"),
        ("5/20 * * * *", "2024-05-03T06:26", "2024-05-03T06:45"),
        ("0 22,4 * * *", "2024-05-03T05:00", "2024-05-03T22:00"),
        ("30 2 1 jan,jul *", "2024-01-01T02:30", "2024-07-01T02:30"),
        ("0 0 * * 7", "2024-05-03T00:00", "2024-05-05T00:00"),
        ("0 0 29 2 *", "2024-03-01T00:00", "2028-02-29T00:00"),
        ("0 0 29 2 *", "2097-01-01T00:00", "2104-02-29T00:00"),
        # Where day and weekday are both restricted, either of them will do.
        ("0 0 13 * 5", "2024-05-04T00:00", "2024-05-10T00:00"),
        ("0 0 13 * 5", "2024-05-10T00:00", "2024-05-13T00:00"),
    ],
)
def test_the_next_moment_is_that_of_cron(text: str, after: str, expected: str) -> None:
    assert Schedule.parse(text).next_after(_at(after)) == _at(expected)


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 6 * * * Europe/Paris", "2024-01-10T00:00", "2024-01-10T05:00"),
        ("0 6 * * * Europe/Paris", "2024-07-10T00:00", "2024-07-10T04:00"),
        # On the day without a 02:30 it comes an hour later by the clock on the wall, and not before what stands there.
        ("30 2 * * * Europe/Paris", "2024-03-30T12:00", "2024-03-31T01:30"),
        ("30 2 * * * Europe/Paris", "2024-03-31T01:30", "2024-04-01T00:30"),
        ("*/30 * * * * Europe/Paris", "2024-03-31T00:59", "2024-03-31T01:00"),
        ("*/30 * * * * Europe/Paris", "2024-03-31T01:00", "2024-03-31T01:30"),
        # On the day with two of them it comes once.
        ("30 2 * * * Europe/Paris", "2024-10-26T12:00", "2024-10-27T00:30"),
        ("30 2 * * * Europe/Paris", "2024-10-27T00:30", "2024-10-28T01:30"),
    ],
)
def test_a_zone_moves_its_clocks_and_no_moment_is_lost(text: str, after: str, expected: str) -> None:
    assert Schedule.parse(text).next_after(_at(after)) == _at(expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("daily", "write five fields"),
        ("@daily", "write five fields"),
        ("0 6 * *", "write five fields"),
        ("0 0 6 * * 1-5", "write five fields"),
        ("0 0 6 * * *", "write five fields"),
        ("0 0 6 * * 1", "write five fields"),
        ("0 24 * * *", "'24' is no hour, which is from 0 to 23"),
        ("0 6 * * 8", "'8' is no weekday, which is from 0 to 7"),
        ("0 6 L * *", "'l' is no day"),
        ("0 6 * * 5-1", "'5-1' is no weekday: it stands for nothing"),
        ("*/0 * * * *", "'*/0' is no minute: it stands for nothing"),
        ("0 6 31 2 *", "no month has such a day"),
        ("0 6 * * * Mars/Phobos", "no time zone 'Mars/Phobos'"),
        ("0 6 * * * europe/paris", "write Europe/Paris"),
    ],
)
def test_another_text_is_refused_with_what_to_write(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is what is asserted
        Schedule.parse(text)
    assert sentence in str(refused.value)


def test_the_longest_wait_of_working_days_is_the_weekend() -> None:
    assert Schedule.parse("0 6 * * 1-5").longest_wait == timedelta(days=3)
    assert Schedule.parse("*/5 * * * *").longest_wait == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("text", "at", "until"),
    [
        ("22:00-06:00", "2024-05-03T21:59", None),
        ("22:00-06:00", "2024-05-03T22:00", "2024-05-04T06:00"),
        ("22:00-06:00", "2024-05-04T05:59", "2024-05-04T06:00"),
        ("22:00-06:00", "2024-05-04T06:00", None),
        ("08:00-18:00", "2024-05-03T12:00", "2024-05-03T18:00"),
        ("08:00-18:00 Europe/Paris", "2024-05-03T15:59", "2024-05-03T16:00"),
        ("08:00-18:00 Europe/Paris", "2024-05-03T16:00", None),
    ],
)
def test_a_quiet_time_ends_where_it_says(text: str, at: str, until: str | None) -> None:
    assert QuietTime.parse(text).until(_at(at)) == (None if until is None else _at(until))


def test_what_was_quiet_of_a_while_is_counted_over_all_of_its_days() -> None:
    quiet = QuietTime.parse("22:00-06:00")
    assert quiet.within(_at("2024-05-03T23:00"), _at("2024-05-04T01:00")) == timedelta(hours=2)
    assert quiet.within(_at("2024-05-03T12:00"), _at("2024-05-05T12:00")) == timedelta(hours=16)
    assert quiet.within(_at("2024-05-03T12:00"), _at("2024-05-03T13:00")) == timedelta()
    assert quiet.length == timedelta(hours=8)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("night", "write two times of day"),
        ("22-6", "write two times of day"),
        ("06:00-06:00", "both times are the same"),
        ("22:00-06:00 Nowhere", "no time zone 'Nowhere'"),
    ],
)
def test_another_quiet_time_is_refused_with_what_to_write(text: str, sentence: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the sentence is what is asserted
        QuietTime.parse(text)
    assert sentence in str(refused.value)
