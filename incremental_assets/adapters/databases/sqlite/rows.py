"""The rows of a table as Spark will hold them, with the flags of a read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.adapters.databases.sqlite.collation import collation_key
from incremental_assets.adapters.databases.sqlite.spellings import Spellings
from incremental_assets.adapters.databases.sqlite.sql import chosen, effective, identifier, is_local, names
from incremental_assets.adapters.databases.sqlite.types import Stored, converters, printed, zone_of
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.table import TableSpec


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cursor in the comparable form, its values as Spark is to hold them and as they are stored, and the first that is not of its kind."""

    cursor: Any
    values: tuple[Any, ...]
    stored: tuple[Stored, ...]
    column: str = ""
    reason: str = ""
    keeps_out: Condition | None = None
    """How to find the rows that it keeps out of the copy, as their keys are other spellings of its own."""
    is_kept_out: bool = False
    """Whether another row keeps it out so."""


def read_rows(connection: sqlite3.Connection, spec: TableSpec, condition: Condition) -> Iterator[Row]:
    """The rows that fulfil a condition, one by one, of those that the configuration chooses."""
    condition = chosen(spec, condition)
    # A masked value is compared by nobody, and decides nevertheless whether its row can land.
    masked = tuple(each.read for each in spec.masks if each.name not in spec.shape.names)
    columns, count = (*spec.source_columns, *masked), len(spec.source_columns)
    each, spellings = converters(columns), Spellings.of(connection, spec)
    key = collation_key(spec, [column.name for column in spec.source_columns])
    for at, *found in connection.execute(select(spec, condition, masked), condition.values):
        stored = found[:count]
        row = _row(spec, columns, at, found, each)
        row = replace(row, values=row.values[:count], stored=tuple(stored)) if masked else row
        row = _keyed(row, key(stored)) if key else row
        yield _ranked(spec, row, spellings) if spellings else row


def with_kept_out(connection: sqlite3.Connection, spec: TableSpec, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, and beside each that lands those that it keeps out of the copy, wherever they lie: an earlier sync may have landed one."""
    told: set[tuple[Stored, ...]] = set()
    for row in rows:
        if row.is_kept_out:
            if row.stored in told:
                continue
            told.add(row.stored)
        yield row
        for other in read_rows(connection, spec, row.keeps_out) if row.keeps_out else ():
            if other.is_kept_out and other.stored not in told:
                told.add(other.stored)
                # A cursor from outside of the window says nothing of how far this read goes.
                yield replace(other, cursor=None)


def select(spec: TableSpec, condition: Condition, more: Sequence[Column] = ()) -> str:
    """The SELECT of cursor and columns, and of more of them."""
    cursor = effective(spec) if spec.read_by is not None else "NULL"
    return f"SELECT {cursor}, {names([column.name for column in (*spec.source_columns, *more)])} FROM {identifier(spec.id.name)} WHERE {condition.sql}"


def _row(spec: TableSpec, columns: Sequence[Column], at: Any, stored: Sequence[Stored], each: Sequence[Any]) -> Row:
    values: list[Any] = []
    column = reason = ""
    for place, (value, convert) in enumerate(zip(stored, each, strict=True)):
        try:
            values.append(None if value is None else convert(value))
        except Unfit as error:
            values.append(None)
            if not column:
                column, reason = columns[place].name, f"{error}, as {columns[place].source_type} holds"
    if at is None and not column and spec.read_by is not None and is_local(spec):
        column, reason = _with_zone(spec, stored)
    return Row(at, tuple(values), tuple(stored), column, reason)


def _with_zone(spec: TableSpec, stored: Sequence[Stored]) -> tuple[str, str]:
    """The cursor that says a zone of its own, and why that cannot land; neither where it is NULL."""
    texts = dict(zip(spec.shape.names, stored, strict=False))
    cursor = next((name for name in spec.cursor_columns if texts.get(name) is not None), "")
    zone = zone_of(texts.get(cursor))
    return (cursor, f"this text says a zone, {zone}, and the cursor's `zone` is another one") if zone else ("", "")


def _keyed(row: Row, key: str | None) -> Row:
    return Row(row.cursor, (*row.values, key), (*row.stored, key), row.column, row.reason)


def _ranked(spec: TableSpec, row: Row, spellings: Spellings) -> Row:
    """The row with what its key's other spellings make of it. One that is kept out has no key: its key is that of a row which lands."""
    rank = spellings.rank(row.values, row.stored)
    if rank is None:
        return row
    if rank.lands:
        return replace(row, keeps_out=rank.rows)
    key = {*spec.named_key, *spec.key}
    values = (None if name in key else value for name, value in zip(spec.shape.names, row.values, strict=True))
    column, reason = (row.column, row.reason) if row.column else (rank.column, rank.why)
    return replace(row, values=tuple(values), column=column, reason=reason, is_kept_out=True)


def raw(spec: TableSpec, row: Row) -> str:
    """The row as it is stored: a JSON object of texts."""
    texts = (None if value is None else printed(value) for value in row.stored)
    return json.dumps(dict(zip(spec.shape.names, texts, strict=True)))


def utc(text: str) -> datetime:
    """A comparable moment as one with a zone."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
