"""Durations carry their unit, and come back as they went."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incremental_assets.core.model.duration import format_duration, format_span, parse_duration, parse_span


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0s", timedelta()),
        ("90s", timedelta(seconds=90)),
        ("15m", timedelta(minutes=15)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
    ],
)
def test_a_duration_is_a_number_and_its_unit(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize("text", ["", "15", "m", "-1s", "1.5h", "1h30m", "1 h", "2w", "500ms", "15M", "٣s", "1s\n1s"])
def test_anything_else_is_refused_with_the_way_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match="90s, 15m, 2h or 3d"):
        parse_duration(text)


def test_a_duration_of_more_than_a_century_is_a_slip() -> None:
    assert parse_duration("36525d") == timedelta(days=36_525)
    for text in ("36526d", "999999999d", "999999999999d"):
        with pytest.raises(ValueError, match=r"hundred years|90s"):
            parse_duration(text)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (60, "1m"), (90, "90s"), (86_400, "1d"), (90_000, "25h")])
def test_a_duration_is_shown_in_the_largest_unit_that_holds_it(seconds: int, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text


@given(st.integers(0, 36_525 * 86_400))
def test_every_duration_comes_back(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    if len(format_duration(duration)) <= 10:
        assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize("duration", [timedelta(milliseconds=500), timedelta(seconds=-1)])
def test_what_has_no_text_is_refused(duration: timedelta) -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        format_duration(duration)


def test_a_span_keeps_the_kind_that_was_written() -> None:
    assert parse_span("1000") == 1000
    assert parse_span("15m") == timedelta(minutes=15)
    assert [format_span(parse_span(text)) for text in ("1000", "15m")] == ["1000", "15m"]


@pytest.mark.parametrize("text", ["-5", "1e3", "15 minutes", ""])
def test_a_span_that_is_neither_names_both(text: str) -> None:
    with pytest.raises(ValueError, match=r"unit.*whole number"):
        parse_span(text)
