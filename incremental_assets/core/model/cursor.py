"""Cursor types and values: canonical text at the source's full precision, and its order.

A value is never a float and never a Spark timestamp; it is compared here only to plan, and in the source to read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache, total_ordering
from typing import Any

from incremental_assets.core.words import with_article

_A_LOOK = 4096
"""The values that one look compares: the same few again and again."""

Span = timedelta | int
"""A distance on a cursor: a duration for time cursors, a whole number for integer cursors."""


class CursorType(StrEnum):
    """What a cursor column holds."""

    DATE = "date"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    INTEGER = "integer"

    @property
    def is_time(self) -> bool:
        """Whether values are moments, so that spans are durations."""
        return self is not CursorType.INTEGER


_TIME = re.compile(
    r"(?P<year>\d{4,7})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?)?(?P<era> BC)?",
)

_LARGEST_OFFSET = 15
"""Hours: what PostgreSQL takes."""
_INTEGER = re.compile(r"[+-]?\d{1,39}")
_INFINITE = {"infinity": 1, "-infinity": -1}


@total_ordering
@dataclass(frozen=True, slots=True)
class CursorValue:
    """One cursor value. `text` is canonical: `2024-01-31`, `2024-01-31T10:00:00.5`, `2024-01-31T10:00:00.5Z`, `42`, `infinity`."""

    type: CursorType
    text: str

    def __post_init__(self) -> None:
        if self.text != _canonical(self.type, self.text):
            raise ValueError(f"{self.text!r} is not the canonical text of {with_article(self.type)} cursor")

    @classmethod
    def parse(cls, type: CursorType, text: str) -> CursorValue:  # noqa: A002 - the field's own word
        """Read what a person or a database wrote; ValueError says what is expected."""
        return cls(type, _canonical(type, text.strip()))

    @classmethod
    def of(cls, type: CursorType, moment: datetime | date | int) -> CursorValue:  # noqa: A002
        """The cursor value of a value of Python: of an aware datetime for `timestamp`, of a naive one for `datetime`. ValueError where it does not fit."""
        if isinstance(moment, datetime):
            if type is CursorType.TIMESTAMP:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            text = moment.date().isoformat() if type is CursorType.DATE else moment.isoformat()
            return cls.parse(type, text)
        return cls.parse(type, moment.isoformat() if isinstance(moment, date) else str(moment))

    @property
    def is_finite(self) -> bool:
        """False for `infinity` and `-infinity`."""
        return self.text not in _INFINITE

    def moment(self) -> datetime:
        """A finite time value as a datetime, naive for `date` and `datetime`, in UTC for `timestamp`; digits below the microsecond are cut."""
        match = _TIME.fullmatch(self.text)
        if match is None or match["era"]:
            raise ValueError(f"{self.text!r} is not a moment that Python can represent")
        fraction = (match["fraction"] or "").ljust(6, "0")[:6]
        parts = [int(match[name] or 0) for name in ("year", "month", "day", "hour", "minute", "second")]
        return datetime(*parts, int(fraction), tzinfo=UTC if self.type is CursorType.TIMESTAMP else None)  # type: ignore[arg-type, misc]

    def minus(self, span: Span) -> CursorValue:
        """This value moved down by a span; a date moves by whole days, rounded up so that nothing is missed."""
        if not span or not self.is_finite:
            return self
        if isinstance(span, int):
            return CursorValue.of(self.type, int(self.text) - span)
        if self.type is CursorType.DATE:
            span = timedelta(days=-((-span) // timedelta(days=1)))
        try:
            return CursorValue.of(self.type, self.moment() - span)
        except (OverflowError, ValueError):
            # Outside of Python's calendar: too low a bound only reads more.
            return CursorValue(self.type, "-infinity")

    def __lt__(self, other: CursorValue) -> bool:
        if self.type is not other.type:
            raise TypeError(
                f"{with_article(self.type)} cursor cannot be compared with {with_article(other.type)} cursor"
            )
        return _order(self.text) < _order(other.text)

    def __str__(self) -> str:
        return self.text


def dump_value(value: CursorValue | None) -> list[str] | None:
    """Type and text for a JSON document; None stays None."""
    return None if value is None else [value.type.value, value.text]


def load_value(pair: Any) -> CursorValue | None:
    """Read it back."""
    return None if pair is None else CursorValue(CursorType(pair[0]), pair[1])


@lru_cache(maxsize=_A_LOOK)
def _canonical(kind: CursorType, text: str) -> str:
    if kind is CursorType.INTEGER:
        if re.fullmatch(r"[+-]?\d{40,}", text, re.ASCII):
            raise ValueError(f"{text!r} has more digits than the 39 that a cursor holds")
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"{text!r} is not a whole number")
        return str(int(text))
    if text in _INFINITE:
        return text
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not {with_article(kind)} such as {_EXAMPLES[kind]}")
    if kind is CursorType.DATE:
        if match["hour"] is not None:
            raise ValueError(f"{text!r} has a time of day, a date cursor is written like {_EXAMPLES[kind]}")
        return _checked_day(match) + (match["era"] or "")
    if kind is CursorType.DATETIME and match["zone"]:
        raise ValueError(f"{text!r} has a zone, a datetime cursor has none and is written like {_EXAMPLES[kind]}")
    return _clock_text(kind, match)


_EXAMPLES = {
    CursorType.DATE: "2024-01-31",
    CursorType.DATETIME: "2024-01-31T10:00:00",
    CursorType.TIMESTAMP: "2024-01-31T10:00:00Z",
}


def _checked_day(match: re.Match[str]) -> str:
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if not year:
        raise ValueError(f"{match.group()!r} has the year 0, which does not exist: 0001 BC comes before 0001")
    # A year that Python cannot hold is checked by its place in the 400-year cycle.
    astronomical = 1 - year if match["era"] else year
    try:
        date(astronomical % 400 + 2000, month, day)
    except ValueError as error:
        raise ValueError(f"{match.group()!r} is no day of the calendar: {error}") from None
    return f"{year:04d}-{month:02d}-{day:02d}"


def _clock_text(kind: CursorType, match: re.Match[str]) -> str:
    day = _checked_day(match)
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{match.group()!r} is not a time of day")
    fraction = (match["fraction"] or "").rstrip("0")
    suffix = ("Z" if kind is CursorType.TIMESTAMP else "") + (match["era"] or "")
    zone = match["zone"] or "Z"
    offset = _offset(zone)
    if offset:
        if match["era"] or int(match["year"]) > 9998:
            raise ValueError(f"{match.group()!r} must be written in UTC")
        try:
            moved = datetime.fromisoformat(f"{day}T{hour:02d}:{minute:02d}:{second:02d}") - offset
        except OverflowError:
            raise ValueError(f"{match.group()!r} must be written in UTC") from None
        day, hour, minute, second = f"{moved.year:04d}-{moved:%m-%d}", moved.hour, moved.minute, moved.second
    return f"{day}T{hour:02d}:{minute:02d}:{second:02d}{'.' + fraction if fraction else ''}{suffix}"


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    digits = zone[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > _LARGEST_OFFSET or minutes > 59:
        raise ValueError(f"{zone!r} is not an offset from UTC, which are written from -15:59 to +15:59")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset


@lru_cache(maxsize=_A_LOOK)
def _order(text: str) -> tuple[int, ...]:
    if text in _INFINITE:
        return (_INFINITE[text],)
    match = _TIME.fullmatch(text)
    if match is None:
        return (0, int(text))
    year = 1 - int(match["year"]) if match["era"] else int(match["year"])
    clock = [int(match[name] or 0) for name in ("month", "day", "hour", "minute", "second")]
    return (0, year, *clock, int((match["fraction"] or "").ljust(9, "0")))
