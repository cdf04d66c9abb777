"""Time zones by name: those of the IANA database, which are the same on every machine."""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

_OF_ONE_MACHINE = frozenset({"localtime", "posixrules"})
"""Zone names that depend on the machine: they mean something else at the source than here."""


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


@cache
def _spellings() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() - _OF_ONE_MACHINE}
