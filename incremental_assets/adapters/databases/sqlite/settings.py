"""The settings of a connection to a file: how the library was built, or what else in this process has set, may have made them others."""

from __future__ import annotations

import sqlite3

from incremental_assets.adapters.databases.settings import Setting, check_settings

_LIKE = "case_sensitive_like"
SETTINGS = (
    Setting("query_only", "1", "a session of ours may write"),
    Setting("read_uncommitted", "0", "what another connection of this process has not committed is shown"),
    Setting("reverse_unordered_selects", "0", "rows come in another order from one question to the next"),
    Setting(_LIKE, "0", "`LIKE` in a view or a generated column finds something else"),
)


def set_all(connection: sqlite3.Connection, place: str) -> None:
    """Sets whatever is not as it must be, and checks it. Raises SourceRefused, which names what stays as it was."""
    # No others: to set that of LIKE at all makes a file malformed that has a generated column with it.
    for setting in SETTINGS:
        if _told(connection, setting.name) != setting.value:
            connection.execute(f"PRAGMA {setting.name} = {setting.value}")
    check_settings(place, SETTINGS, {each.name: _told(connection, each.name) for each in SETTINGS})


def _told(connection: sqlite3.Connection, name: str) -> str:
    # The one that no pragma tells.
    question = "SELECT 'a' NOT LIKE 'A'" if name == _LIKE else f"PRAGMA {name}"
    return str(connection.execute(question).fetchone()[0])
