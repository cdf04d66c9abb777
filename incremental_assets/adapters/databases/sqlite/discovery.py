"""What a SQLite file tells of columns that may be cursors: its schema, and of each table the rows that were added last."""

from __future__ import annotations

import re
import sqlite3
from itertools import pairwise

from incremental_assets.adapters.databases.sqlite.cursors_by_values import (
    ROWS,
    Found,
    cursors_by_values,
    has_row_numbers,
)
from incremental_assets.adapters.databases.sqlite.doctor import has_default, is_indexed
from incremental_assets.adapters.databases.sqlite.errors import is_of_one_object
from incremental_assets.adapters.databases.sqlite.sql import comparable_sql, identifier
from incremental_assets.core.discovery.traits import ColumnTraits, Sample, TableTraits, from_catalogue
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table_shape import TableShape

_TRIGGERS = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?"


def describe(connection: sqlite3.Connection, shape: TableShape) -> TableTraits:
    """How often rows were updated, a file does not count. Of a table that cannot be read the catalogue alone tells."""
    triggers = [str(text) for (text,) in connection.execute(_TRIGGERS, (shape.id.name,))]
    try:
        return TableTraits(
            tuple(_column(connection, shape, each, triggers) for each in cursors_by_values(connection, shape))
        )
    except sqlite3.Error as error:
        if not is_of_one_object(error):
            raise
        return from_catalogue(shape)


def _column(connection: sqlite3.Connection, shape: TableShape, found: Found, triggers: list[str]) -> ColumnTraits:
    table, column, name = shape.id.name, found.column, found.column.name
    set_to = re.compile(rf"(\bSET|,)\s*[\"\[`]?{re.escape(name)}[\"\]`]?\s*=", re.IGNORECASE)
    writers = [text for text in triggers if set_to.search(text)]
    indexed = is_indexed(connection, table, name)
    return ColumnTraits(
        column,
        found.type,
        indexed=indexed,
        on_insert=has_default(connection, table, name) or column.sequence is not None,
        on_update=any(re.search(r"\bUPDATE\b.*?\bON\b", text, re.IGNORECASE | re.DOTALL) for text in writers),
        sample=_sample(connection, table, name, found.type),
        counts_time=found.counts_time,
    )


def _sample(connection: sqlite3.Connection, table: str, name: str, kind: CursorType) -> Sample | None:
    """A sample by the row's number, which grows with each insert. Of a table without such numbers, and of a view, nothing tells which rows are new."""
    if not has_row_numbers(connection, table):
        return None
    value = comparable_sql(name, kind)
    newest = f"SELECT {value} FROM {identifier(table)} ORDER BY rowid DESC LIMIT {ROWS}"
    values = [found for (found,) in connection.execute(newest)][::-1]
    pairs = [(one, other) for one, other in pairwise(values) if None not in (one, other)]
    return Sample(
        len(values),
        values.count(None),
        sum(one == other for one, other in pairs),
        sum(one > other for one, other in pairs),
    )
