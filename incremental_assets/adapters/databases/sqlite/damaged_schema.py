"""A file whose schema has entries that the library cannot read: written by a later version of it, or damaged. By default it then opens nothing of the file."""

from __future__ import annotations

import sqlite3
from sqlite3 import SQLITE_CORRUPT, SQLITE_ERROR

_TOLERATED = "PRAGMA writable_schema"
_ENTRIES = "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND (?1 = '' OR name = ?1)"


def is_of_one_entry(error: sqlite3.Error) -> bool:
    """Whether the library complains of one entry of the schema, and not of the file."""
    return error.sqlite_errorcode & 0xFF == SQLITE_CORRUPT and str(error).startswith("malformed database schema")


def tolerate(connection: sqlite3.Connection) -> None:
    """Let a connection that cannot write leave such entries out. The library's own repair tools read so."""
    connection.execute(f"{_TOLERATED} = ON")


def unread(connection: sqlite3.Connection, name: str = "") -> dict[str, str]:
    """Tables and views whose definition the library cannot read, and why; none on a connection that left nothing out."""
    (tolerates,) = connection.execute(_TOLERATED).fetchone()
    if not tolerates:
        return {}
    found = {entry: _why(str(text)) for entry, text in connection.execute(_ENTRIES, (name,))}
    return {entry: why for entry, why in found.items() if why}


def _why(text: str) -> str:
    alone = sqlite3.connect(":memory:")
    try:
        # Read, and not carried out.
        alone.execute(f"EXPLAIN {text}")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != SQLITE_ERROR:
            raise
        return f"SQLite {sqlite3.sqlite_version}, which reads the file here, cannot read its definition ({error})"
    finally:
        alone.close()
    return ""
