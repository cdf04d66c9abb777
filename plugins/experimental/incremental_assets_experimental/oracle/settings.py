"""The settings of a session: the instance, a profile or a logon trigger may have set any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from incremental_assets.adapters.databases.settings import Setting, check_settings
from incremental_assets_experimental.rowwise.row_dialect import Row

SETTINGS = (
    Setting("TIME_ZONE", "+00:00", "a moment with a local zone comes in another one"),
    Setting("NLS_CALENDAR", "GREGORIAN", "days have other numbers"),
    Setting("NLS_NUMERIC_CHARACTERS", ".,", "the text of a number has another point"),
    Setting("NLS_COMP", "BINARY", "texts are compared in another way than by their bytes"),
    Setting("NLS_SORT", "BINARY", "texts are in another order than that of their bytes"),
)
QUESTION = """
SELECT PARAMETER, VALUE FROM NLS_SESSION_PARAMETERS WHERE PARAMETER IN ('NLS_CALENDAR', 'NLS_NUMERIC_CHARACTERS', 'NLS_COMP', 'NLS_SORT')
UNION ALL SELECT 'TIME_ZONE', SESSIONTIMEZONE FROM DUAL
"""


def statements() -> tuple[str, ...]:
    """What sets them."""
    return tuple(f"ALTER SESSION SET {each.name} = '{each.value}'" for each in SETTINGS)


def check(rows: Callable[[str], Iterator[Row]], place: str) -> None:
    """The session has all of them. Raises SourceRefused, which names the first that it has not."""
    check_settings(place, SETTINGS, {str(name): str(value) for name, value in rows(QUESTION)})
