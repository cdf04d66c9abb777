"""A table's keys as canonical texts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from incremental_assets.adapters.databases.condition import EVERY
from incremental_assets.adapters.databases.local_rows import Unfit, key_texts
from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.adapters.databases.row_texts import row_text
from incremental_assets.adapters.databases.sqlite.collation import collation_key
from incremental_assets.adapters.databases.sqlite.spellings import has_offset
from incremental_assets.adapters.databases.sqlite.sql import chosen, identifier, names
from incremental_assets.adapters.databases.sqlite.types import Stored, converters
from incremental_assets.core.model.collation_key import NAME
from incremental_assets.core.model.table import TableSpec


def read_keys(connection: sqlite3.Connection, spec: TableSpec) -> ReadKeys:
    """All of a table's keys, in one statement: a file is read faster than it is asked."""
    key = collation_key(spec, spec.named_key)
    if key is not None:
        return ReadKeys.collated(dict(_collated(connection, spec, key)))
    return ReadKeys.of(spec, _texts(connection, spec))


def present_keys(connection: sqlite3.Connection, spec: TableSpec, texts: AbstractSet[str]) -> frozenset[str]:
    """Those of these canonical texts that a row has as its key; of the others none is kept."""
    key = collation_key(spec, spec.named_key)
    found = _texts(connection, spec) if key is None else (text for text, _ in _collated(connection, spec, key))
    return frozenset(text for text in found if text in texts)


def _texts(connection: sqlite3.Connection, spec: TableSpec) -> Iterator[str]:
    columns = spec.key_columns
    stored = _selected(connection, spec, spec.key)
    moments = [place for place, column in enumerate(columns) if column.spark_type == "timestamp_ntz"]
    # See `Spellings.rank`: a row with such a key is in no copy.
    keys = (key for key in stored if not any(has_offset(key[place]) for place in moments)) if moments else stored
    return key_texts(columns, converters(columns), keys)


def _collated(
    connection: sqlite3.Connection, spec: TableSpec, collated: Callable[[Sequence[Stored]], str | None]
) -> Iterator[tuple[str, str]]:
    """The text by which each key is told apart, and that of the key as it is written."""
    columns, by_name = spec.key_columns, {column.name: column for column in spec.columns}
    each, told_by = converters(columns), [by_name[name] for name in spec.key]
    for key in _selected(connection, spec, spec.named_key):
        if None in key:
            continue
        try:
            values = [convert(value) for value, convert in zip(key, each, strict=True)]
        except Unfit:
            continue
        found = dict(zip(spec.named_key, values, strict=True))
        found[NAME] = collated(key)
        yield row_text(told_by, [found[name] for name in spec.key]), row_text(columns, values)


def _selected(connection: sqlite3.Connection, spec: TableSpec, columns: Sequence[str]) -> sqlite3.Cursor:
    """These columns of the rows that the configuration chooses."""
    rows = chosen(spec, EVERY)
    return connection.execute(f"SELECT {names(columns)} FROM {identifier(spec.id.name)} WHERE {rows.sql}", rows.values)
