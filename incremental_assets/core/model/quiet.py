"""A time of day in which nobody begins work at a source by himself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from incremental_assets.core.model.schedule import named_zone

_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d"
PATTERN = rf"({_TIME})-({_TIME})(?: (\S+))?"
"""The form of a quiet time, for editors and schemas outside this program."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class QuietTime:
    """From one time of day to another, which is the next day's where it is not the later one."""

    text: str
    begins: time
    ends: time
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str) -> QuietTime:
        """`22:00-06:00` or `22:00-06:00 Europe/Paris`; ValueError says how one is written."""
        found = re.fullmatch(PATTERN, text.strip(), re.ASCII)
        if found is None:
            raise ValueError(
                'write two times of day like "22:00-06:00", and behind them a zone unless they are in UTC, like "22:00-06:00 Europe/Paris"'
            )
        begins, ends = (time.fromisoformat(each) for each in found.groups()[:2])
        if begins == ends:
            raise ValueError(
                "both times are the same, which would be all day or never; write two that differ, or remove `quiet`"
            )
        return cls(text.strip(), begins, ends, named_zone(found[3]) if found[3] else ZoneInfo("UTC"))

    def __str__(self) -> str:
        return self.text

    @property
    def length(self) -> timedelta:
        """How long it is, on a day whose clocks are not moved."""
        first, last = (timedelta(hours=each.hour, minutes=each.minute) for each in (self.begins, self.ends))
        return (last - first) % _DAY

    def until(self, moment: datetime) -> datetime | None:
        """When the quiet time ends in which this moment is, in UTC; None where it is in none."""
        return next((end for begin, end in self._around(moment, moment) if begin <= moment < end), None)

    def within(self, since: datetime, until: datetime) -> timedelta:
        """How much of this time was quiet."""
        parts = (min(end, until) - max(begin, since) for begin, end in self._around(since, until))
        return sum((part for part in parts if part > timedelta()), timedelta())

    def _around(self, since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
        first = since.astimezone(self.zone).date() - _DAY
        days = (until.astimezone(self.zone).date() - first).days
        dates = [first + number * _DAY for number in range(days + 1)]
        later = _DAY if self.ends <= self.begins else timedelta()
        return [(self._at(day, self.begins), self._at(day + later, self.ends)) for day in dates]

    def _at(self, day: date, at: time) -> datetime:
        return datetime.combine(day, at, self.zone).astimezone(UTC)
