"""When a table is due by the calendar: five fields of cron, in UTC or in a zone that is named behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from incremental_assets.core.model.time_zones import proper_name, time_zone

FORM = 'write five fields (minute, hour, day, month, weekday) like "0 6 * * 1-5", and behind them a zone unless they are in UTC, like "0 6 * * 1-5 Europe/Paris"'
_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES = {
    "month": dict(zip(_MONTHS, range(1, 13), strict=True)),
    "weekday": dict(zip(_WEEKDAYS, range(7), strict=True)),
}
_PART = re.compile(r"(\*|(\w+)(?:-(\w+))?)(?:/(\d{1,2}))?", re.ASCII)
_FARTHEST = 366 * 41
"""Days until a 29th of February is a certain weekday again, over a century that has no leap year."""
_TRIED = 2000
"""Moments among which the longest wait is looked for: all of a year, unless they come more often than every four hours."""
_ANY_YEAR = datetime(2028, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The moments at which the fields say that a table is due."""

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either: bool
    """Whether a day is one that has the day of the month or the weekday, as cron reads it where both are restricted."""
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """`0 6 * * 1-5` or `0 6 * * 1-5 Europe/Paris`; ValueError says how one is written."""
        words = text.split()
        # A sixth word that could be a field is no zone: some programs write seconds first.
        if len(words) not in (5, 6) or (len(words) > len(_FIELDS) and not words[-1][0].isalpha()):
            raise ValueError(FORM)
        minutes, hours, days, months, weekdays = (
            _values(word, *field) for word, field in zip(words, _FIELDS, strict=False)
        )
        found = cls(
            text=" ".join(words),
            minutes=tuple(sorted(minutes)),
            hours=tuple(sorted(hours)),
            days=frozenset(days),
            months=frozenset(months),
            weekdays=frozenset(each % 7 for each in weekdays),
            either=not words[2].startswith("*") and not words[4].startswith("*"),
            zone=named_zone(words[5]) if len(words) == len(_FIELDS) + 1 else ZoneInfo("UTC"),
        )
        if found._first(_ANY_YEAR) is None:
            raise ValueError(
                f"no month has such a day, so that {text.strip()!r} never comes; write another day or month"
            )
        return found

    def __str__(self) -> str:
        return self.text

    def next_after(self, moment: datetime) -> datetime:
        """The first moment later than this one, in UTC. A time of day that a zone leaves out comes an hour later, one that it has twice comes once."""
        found = self._first(moment)
        if found is None:
            raise ValueError(f"{self.text} never comes")
        return found

    @property
    def longest_wait(self) -> timedelta:
        """The longest time between two moments, of a year."""
        at, longest = self.next_after(_ANY_YEAR), timedelta()
        for _ in range(_TRIED):
            later = self.next_after(at)
            at, longest = later, max(longest, later - at)
            if at - _ANY_YEAR > timedelta(days=366):
                break
        return longest

    def _first(self, moment: datetime) -> datetime | None:
        shifted: datetime | None = None
        for reading in self._readings(moment.astimezone(self.zone).replace(tzinfo=None)):
            found = reading.replace(tzinfo=self.zone).astimezone(UTC)
            if found <= moment:
                continue
            # An hour that the zone leaves out is read past its end, where a later reading may be the earlier moment.
            is_there = found.astimezone(self.zone).replace(tzinfo=None) == reading
            if is_there:
                return found if shifted is None else min(found, shifted)
            shifted = shifted or found
        return shifted

    def _readings(self, after: datetime) -> Iterator[datetime]:
        """What a clock on the wall shows at the moments from `after` on, ascending."""
        for number in range(_FARTHEST):
            day = after.date() + timedelta(days=number)
            if self._is_on(day):
                for hour in self.hours:
                    for minute in self.minutes:
                        reading = datetime.combine(day, time(hour, minute))
                        # The hour before may come a second time.
                        if reading > after - timedelta(hours=1):
                            yield reading

    def _is_on(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return of_month or of_week if self.either else of_month and of_week


def named_zone(name: str) -> ZoneInfo:
    """The zone of a text in the configuration; ValueError where there is none of that name."""
    found = time_zone(name)
    if found is None:
        proper = proper_name(name)
        raise ValueError(
            f"there is no time zone {name!r}; " + (f"write {proper}" if proper else "write one like Europe/Paris")
        )
    return found


def _values(text: str, field: str, least: int, most: int) -> set[int]:
    found: set[int] = set()
    for part in text.lower().split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no {field}; {FORM}")
        whole, begin, end, step = match.groups()
        if whole == "*":
            first, last = least, most
        else:
            first = _value(begin, field, least, most)
            last = _value(end, field, least, most) if end else most if step else first
        if first > last or (step is not None and not int(step)):
            raise ValueError(f"{part!r} is no {field}: it stands for nothing; {FORM}")
        found.update(range(first, last + 1, int(step or 1)))
    return found


def _value(text: str, field: str, least: int, most: int) -> int:
    value = _NAMES.get(field, {}).get(text, int(text) if text.isdecimal() and len(text) < len("100") else -1)
    if not least <= value <= most:
        raise ValueError(f"{text!r} is no {field}, which is from {least} to {most}; {FORM}")
    return value
