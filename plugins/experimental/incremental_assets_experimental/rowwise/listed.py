"""Answers of a catalogue, put together by table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from incremental_assets_experimental.rowwise.row_dialect import Row

Place = tuple[str, str]
"""Schema and name of a table."""


def by_table(rows: Iterable[Row]) -> defaultdict[Place, list[Row]]:
    """What follows schema and name, by these."""
    found: defaultdict[Place, list[Row]] = defaultdict(list)
    for schema, table, *rest in rows:
        found[str(schema), str(table)].append(tuple(rest))
    return found


def keys_of(rows: Sequence[Row]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The primary key and the other ones, of rows of a key's name, whether it is the primary one, and a column."""
    columns: dict[str, list[str]] = defaultdict(list)
    primary = ""
    for index, is_primary, column in rows:
        columns[str(index)].append(str(column))
        primary = str(index) if is_primary else primary
    return tuple(columns.get(primary, ())), tuple(tuple(key) for index, key in columns.items() if index != primary)
