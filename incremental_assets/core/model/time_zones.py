"""Time zones by name: those of the IANA database, which are the same on every machine."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_OF_ONE_MACHINE = frozenset({"localtime", "posixrules"})
"""Zone names that depend on the machine: they mean something else at the source than here."""

_OFFSET = re.compile(r"<?([+-])(\d\d):?(\d\d)(?:>.*)?$")
_YEARS = range(2024, 2031)
_AREAS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")


def time_zone(name: str) -> ZoneInfo | None:
    """The zone; None if there is none of that name."""
    if name in _OF_ONE_MACHINE:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder of the database, such as `Europe`
        return None


def proper_name(name: str) -> str | None:
    """The name in its official spelling, as databases accept it in any case; None if there is no such zone."""
    return name if time_zone(name) is not None else _spellings().get(name.lower())


def to_write(zone: str) -> str:
    """What to write in place of a zone that is none: of an offset, as MariaDB (`+05:30`) and PostgreSQL (`<+05:30>-05:30`) have it, one that is always at it."""
    found = _OFFSET.match(zone)
    offset = timedelta(hours=int(found[2]), minutes=int(found[3])) if found else None
    name = _always_at(-offset if found and found[1] == "-" else offset) if offset is not None else None
    if found is None or name is None:
        return "as `cursor: {zone: Europe/Paris}` does where that is the one"
    return f"`cursor: {{zone: {name}}}`, which is always at {found[1]}{found[2]}:{found[3]}, or another such one"


@cache
def _always_at(offset: timedelta) -> str | None:
    moments = [datetime(year, month, 1, tzinfo=UTC) for year in _YEARS for month in range(1, 13)]
    for name in sorted(available_timezones()):
        if name.startswith(_AREAS) and all(each.astimezone(ZoneInfo(name)).utcoffset() == offset for each in moments):
            return name
    return None


@cache
def _spellings() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() - _OF_ONE_MACHINE}
