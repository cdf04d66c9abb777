"""A table's keys as canonical texts."""

from __future__ import annotations

import sqlite3

from incremental_assets.adapters.databases.local_rows import key_texts
from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.adapters.databases.sqlite.sql import identifier, names
from incremental_assets.adapters.databases.sqlite.types import converters
from incremental_assets.core.model.table import TableSpec


def read_keys(connection: sqlite3.Connection, spec: TableSpec) -> ReadKeys:
    """All of a table's keys, in one statement: a file is read faster than it is asked."""
    columns = [next(column for column in spec.columns if column.name == name) for name in spec.key]
    stored = connection.execute(f"SELECT {names(spec.key)} FROM {identifier(spec.id.name)}")
    return ReadKeys.of(spec, key_texts(columns, converters(spec, columns), stored))
