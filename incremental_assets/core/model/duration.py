"""Durations as written, `90s 15m 2h 3d`, and spans on a cursor: the unit is always in the value, never inferred."""

from __future__ import annotations

import re
from datetime import timedelta

from incremental_assets.core.model.cursor import Span

_MOST_DIGITS = 10
PATTERN = rf"[0-9]{{1,{_MOST_DIGITS}}}[smhd]"
"""The form of a duration, for editors and schemas outside this program."""
_FORM = re.compile(r"[0-9]+[smhd]")

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_LONGEST = timedelta(days=36_525)  # a century: more is a mistake, and dates stay within what Python can subtract


def parse_duration(text: str) -> timedelta:
    """`90s` -> 90 seconds; ValueError says how durations are written."""
    text = text.strip()
    if not _FORM.fullmatch(text):
        raise ValueError("write a duration with its unit, like 90s, 15m, 2h or 3d")
    number = text[:-1].lstrip("0") or "0"
    if len(number) > _MOST_DIGITS or (seconds := int(number) * _SECONDS[text[-1]]) > _LONGEST.total_seconds():
        raise ValueError("write a duration of at most a hundred years, 36525d")
    return timedelta(seconds=seconds)


def format_duration(duration: timedelta) -> str:
    """90 seconds -> `90s`, 120 -> `2m`: whole seconds in the largest unit that holds them exactly."""
    seconds, rest = divmod(duration, timedelta(seconds=1))
    if rest or seconds < 0:
        raise ValueError(f"{duration} is not a duration in whole seconds")
    unit = next((unit for unit, size in _SECONDS.items() if seconds and seconds % size == 0), "s")
    return f"{seconds // _SECONDS[unit]}{unit}"


def parse_span(text: str) -> Span:
    """`15m` -> a duration, `1000` -> a whole number; the cursor decides whether it fits."""
    text = text.strip()
    if re.fullmatch(r"\d{1,18}", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"\d+", text, re.ASCII):
        raise ValueError("write a whole number of at most 18 digits")
    if not _FORM.fullmatch(text):
        raise ValueError(
            "write a duration with its unit, like 15m, for a time cursor, or a whole number for an integer cursor"
        )
    return parse_duration(text)


def format_span(span: Span) -> str:
    """The inverse of `parse_span`."""
    return str(span) if isinstance(span, int) else format_duration(span)
