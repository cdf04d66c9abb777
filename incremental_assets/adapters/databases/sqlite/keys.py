"""A table's keys as canonical texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.adapters.databases.row_texts import row_text
from incremental_assets.adapters.databases.sqlite.sql import identifier, names
from incremental_assets.adapters.databases.sqlite.types import Unfit, converter
from incremental_assets.core.model.table import TableSpec


def read_keys(connection: sqlite3.Connection, spec: TableSpec) -> ReadKeys:
    """All of a table's keys, in one statement: a file is read faster than it is asked."""
    return ReadKeys.of(spec, _texts(connection, spec))


def _texts(connection: sqlite3.Connection, spec: TableSpec) -> Iterator[str]:
    """A key with a part that is NULL, or not of its kind, is in no copy."""
    columns = [next(column for column in spec.columns if column.name == name) for name in spec.key]
    converters = [converter(column.spark_type, column.fidelity) for column in columns]
    for stored in connection.execute(f"SELECT {names(spec.key)} FROM {identifier(spec.id.name)}"):
        if None in stored:
            continue
        try:
            values = [convert(value) for value, convert in zip(stored, converters, strict=True)]
        except Unfit:
            continue
        yield row_text(columns, values)
