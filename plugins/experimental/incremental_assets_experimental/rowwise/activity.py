"""What a server says of who is at work and since when: its local times as moments, and its sessions as people call them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones


def earliest(wall: str, offset: int, clock: datetime) -> datetime:
    """A reading of the server's local clock in UTC, the earliest that it can be: its zone is not known, and may be any that now has the server's offset (in minutes)."""
    local = datetime.fromisoformat(wall)
    found = [local.replace(tzinfo=zone, fold=0).astimezone(UTC) for zone in _zones() if _offset(zone, clock) == offset]
    return min([local.replace(tzinfo=UTC) - timedelta(minutes=offset), *found])


def zone_of(offset: int) -> str:
    """The zone of stamps without one, by the server's offset in minutes: `Etc/GMT-2` for two hours east; an offset with minutes as `+05:30`, which no zone is called."""
    hours, minutes = divmod(abs(offset), 60)
    if minutes:
        return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"
    return "UTC" if not hours else f"Etc/GMT{'+' if offset < 0 else '-'}{hours}"


def who(session: object, login: object = None, program: object = None) -> str:
    """A session, with as much of its user and program as is known."""
    return ", ".join([f"session {session}", *(str(each) for each in (login, program) if each)])


def moment(text: object) -> datetime:
    """A reading of the server's clock in UTC."""
    return datetime.fromisoformat(str(text)[:26]).replace(tzinfo=UTC)


def _offset(zone: ZoneInfo, clock: datetime) -> float:
    return (clock.astimezone(zone).utcoffset() or timedelta()).total_seconds() / 60


@cache
def _zones() -> tuple[ZoneInfo, ...]:
    return tuple(ZoneInfo(name) for name in sorted(available_timezones()))
