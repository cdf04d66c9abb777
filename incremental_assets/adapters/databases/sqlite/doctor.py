"""The queries of `doctor` to a SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

from incremental_assets.adapters.databases.sqlite.errors import is_of_one_object
from incremental_assets.adapters.databases.sqlite.sql import identifier
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts, Wanted

_KIND = "SELECT type FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')"
_STAMPED = "SELECT dflt_value FROM pragma_table_info(?) WHERE name = ?"
_FIRST = "SELECT count(*) FROM pragma_index_list(?1) AS l WHERE NOT l.partial AND (SELECT i.name FROM pragma_index_info(l.name) AS i WHERE i.seqno = 0) = ?2"


def read_facts(connection: sqlite3.Connection, wanted: Sequence[Wanted]) -> SourceFacts:
    """The file as it is found, with one entry per wanted table, in their order."""
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    return SourceFacts(
        version=f"SQLite {sqlite3.sqlite_version}",
        user=f"user {os.geteuid()} of this machine",
        encoding=str(encoding),
        is_superuser=False,
        sees_transactions=True,
        tracks_activities=True,
        says_which=True,
        is_replica=False,
        zone="UTC",
        clock=datetime.now(UTC),
        tables=tuple(_facts(connection, each) for each in wanted),
    )


def _facts(connection: sqlite3.Connection, wanted: Wanted) -> TableFacts:
    name = wanted.table.name
    kind = connection.execute(_KIND, (name,)).fetchone()
    if kind is None:
        return TableFacts(wanted)
    is_table = kind[0] == "table"
    return TableFacts(
        wanted=wanted,
        exists=True,
        usable=True,
        readable=True,
        unindexed=tuple(column for column in wanted.cursors if is_table and not is_indexed(connection, name, column)),
        numbers=tuple(column for column in wanted.cursors if _holds_numbers(connection, name, column)),
        rows=_rows(connection, name),
    )


def _rows(connection: sqlite3.Connection, name: str) -> int:
    """Not known, as 0, of a view whose query fails, and of a table that is damaged: its own sync says so."""
    return _number(connection, f"SELECT count(*) FROM {identifier(name)}")


def _holds_numbers(connection: sqlite3.Connection, name: str, column: str) -> bool:
    """Whether numbers are in the column, and no text is; an index finds both."""
    table, value = identifier(name), identifier(column)
    texts = f"EXISTS (SELECT 1 FROM {table} WHERE {value} >= '')"
    return bool(_number(connection, f"SELECT EXISTS (SELECT 1 FROM {table} WHERE {value} < '') AND NOT {texts}"))


def _number(connection: sqlite3.Connection, question: str) -> int:
    try:
        return int(connection.execute(question).fetchone()[0])
    except sqlite3.DatabaseError as error:
        if not is_of_one_object(error):
            raise
        return 0


def is_indexed(connection: sqlite3.Connection, table: str, column: str) -> bool:
    """Whether an index of all rows begins with the column, or it is the row's number."""
    alias = connection.execute(
        "SELECT count(*) FROM pragma_table_info(?) WHERE name = ? AND pk = 1 AND upper(type) = 'INTEGER'",
        (table, column),
    ).fetchone()
    return bool(alias[0] or connection.execute(_FIRST, (table, column)).fetchone()[0])


def has_default(connection: sqlite3.Connection, table: str, column: str) -> bool:
    """Whether the file gives it a value where an insert does not."""
    found = connection.execute(_STAMPED, (table, column)).fetchone()
    return bool(found and found[0])
