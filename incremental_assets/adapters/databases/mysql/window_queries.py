"""What is asked of the rows of a window: how many, the highest, a digest of what they hold, and the hashes that Spark computes of its copy."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from incremental_assets.adapters.databases.condition import EVERY, NONE, Condition, either
from incremental_assets.adapters.databases.measure import NULL, SEPARATOR, placed_by_value
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.rows_of import (
    all_rows,
    checked,
    checked_sum,
    select,
    summed_hashes,
)
from incremental_assets.adapters.databases.mysql.sql import (
    beyond,
    chosen,
    effective,
    has_cursor,
    identifier,
    inside,
    relation,
    without_cursor,
)
from incremental_assets.adapters.databases.mysql.types import travel
from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.window import Window, merge

_AT_ONCE = 1_000
"""Keys that one statement names."""


def end(connection: Connection, spec: TableSpec, function: str) -> CursorValue | None:
    """The smallest (`MIN`) or the largest (`MAX`) cursor of a table."""
    there = chosen(spec, has_cursor(spec))
    (found,) = connection.row(
        f"SELECT {function}({effective(spec)}) FROM {relation(spec.id)} WHERE {there.sql}", there.values
    )
    return value_of(spec, found)


def without(connection: Connection, spec: TableSpec) -> int:
    """Rows without a cursor."""
    missing = chosen(spec, without_cursor(spec))
    (found,) = connection.row(f"SELECT COUNT(*) FROM {relation(spec.id)} WHERE {missing.sql}", missing.values)
    return int(found)


def fingerprint(connection: Connection, spec: TableSpec, window: Window) -> Fingerprint:
    """Rows carry no versions, so that it is of what they hold."""
    rows = chosen(spec, inside(spec, window, nulls=cursor_of(spec).nulls is not NullPolicy.SKIP))
    there = has_cursor(spec)
    sql = (
        f"SELECT COUNT(*), MAX(IF({there.sql}, {effective(spec)}, NULL)), {summed_hashes(printed_hash(spec.source_columns))} "
        f"FROM {relation(spec.id)} WHERE {rows.sql}"
    )
    count, highest, digest = connection.row(sql, (*there.values, *rows.values))
    value = value_of(spec, highest)
    return Fingerprint(window.lower, int(count), value.text if value else None, checked_sum(connection, spec, digest))


def oldest(connection: Connection, spec: TableSpec, window: Window, above: CursorValue) -> str | None:
    """The smallest cursor of a window above a value, as the server prints it."""
    rows = chosen(spec, inside(spec, window, nulls=False) & beyond(spec, ">", above))
    sql = f"SELECT MIN({effective(spec)}) FROM {relation(spec.id)} WHERE {rows.sql}"
    found: str | None = connection.row(sql, rows.values)[0]
    return found


def measure(connection: Connection, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
    """Rows and hash of each window, of rows that could have landed, in one snapshot."""
    return tuple(_measure(connection, spec, window) for window in windows)


def row_hashes(
    connection: Connection, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
) -> list[tuple[Any, ...]]:
    """The key's canonical text, or the row's hash where there is no key, the row's hash, and the key as it is written where its text is that of a collation key; asked in a snapshot."""
    rows = _compared(spec, windows, places)
    columns = [_key(spec), row_hash(spec.columns), *([_one_text(spec.key_columns)] if spec.collation_key else [])]
    found = all_rows(connection, select(spec, ", ".join(columns), rows))
    digests = checked(connection, spec, (row[1] for row in found))
    return [
        (str(key), int(digest), *map(str, written)) for (key, _, *written), digest in zip(found, digests, strict=True)
    ]


def row_texts(
    connection: Connection, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
) -> list[tuple[str, str]]:
    """The key's canonical text, or the row's hash where there is no key, and the row's canonical text; asked in a snapshot."""
    found = all_rows(
        connection, select(spec, f"{_key(spec)}, {_row_text(spec.columns)}", _compared(spec, windows, places))
    )
    rows = checked(connection, spec, (text for _, text in found))
    return [(str(key), text) for (key, _), text in zip(found, rows, strict=True)]


def placed_rows(connection: Connection, spec: TableSpec, windows: Sequence[Window]) -> ReadPlaces:
    """The place of the key, see `core.model.key_parts`, and the hash of each row that could have landed; asked in a snapshot."""
    rows = _inside(spec, windows) & _landable(spec) & _unmarked(spec)
    found = all_rows(connection, select(spec, f"{place(spec)}, {row_hash(spec.columns)}", rows))
    digests = checked(connection, spec, (digest for _, digest in found))
    # A row without a key has no place.
    return ReadPlaces.of(
        (int(at), int(digest)) for (at, _), digest in zip(found, digests, strict=True) if at is not None
    )


def unlandable(spec: TableSpec) -> Condition:
    """Rows of which Spark cannot hold a value."""
    landable = _landable(spec)
    return NONE if landable == EVERY else Condition(f"NOT ({landable.sql})", landable.values)


def place(spec: TableSpec) -> str:
    """The key's value where it is one whole number, else its hash; of a row without a key the hash of the row."""
    if not placed_by_value(spec):
        return row_hash(_key_columns(spec) or spec.columns)
    (column,), name = spec.key_columns, identifier(spec.key[0])
    # Bits come as bytes. Any other is asked for as it is, so that an index finds it.
    return f"({name} + 0)" if column.source_type.startswith("bit") else name


def at_places(spec: TableSpec, places: KeyParts) -> Condition:
    """Rows whose keys lie there."""
    numbers = tuple(sorted(places.numbers or ()))
    return Condition(f"{place(spec)} IN ({', '.join(['%s'] * len(numbers))})", numbers) if numbers else NONE


def unholdable_keys(connection: Connection, spec: TableSpec, windows: Sequence[Window]) -> list[str]:
    """The keys of rows that cannot land; none where there is no key, or where Spark holds every value. Asked in a snapshot."""
    if not spec.key or _landable(spec) == EVERY:
        return []
    found = all_rows(connection, select(spec, _key(spec), _inside(spec, windows) & unlandable(spec)))
    return list(checked(connection, spec, (key for (key,) in found)))


def read_keys(connection: Connection, spec: TableSpec) -> ReadKeys:
    """The canonical text of each key, and where that is of a collation key the one of the key as it is written, asked in a snapshot; a key with a part that is NULL, or that Spark cannot hold, is in no copy."""
    texts = [_row_text(_key_columns(spec)), *([_row_text(spec.key_columns)] if spec.collation_key else [])]
    found = all_rows(connection, select(spec, ", ".join(texts), _with_key(spec)))
    keys = checked(connection, spec, (row[0] for row in found))
    if spec.collation_key is None:
        return ReadKeys.of(spec, keys)
    return ReadKeys.collated(dict(zip(keys, checked(connection, spec, (row[1] for row in found)), strict=True)))


def present_keys(connection: Connection, spec: TableSpec, texts: AbstractSet[str]) -> frozenset[str]:
    """Those of these canonical texts that a row has as its key: the server looks through the table, and sends no other."""
    own, wanted = _row_text(_key_columns(spec)), sorted(texts)
    found: set[Any] = set()
    for first in range(0, len(wanted), _AT_ONCE):
        some = wanted[first : first + _AT_ONCE]
        sought = Condition(f"{own} IN ({', '.join(['%s'] * len(some))})", tuple(some))
        found.update(text for (text,) in all_rows(connection, select(spec, own, _with_key(spec) & sought)))
    # What the server takes for equal may be written in another way.
    return frozenset(found & texts)


def _with_key(spec: TableSpec) -> Condition:
    """Rows with a whole key that Spark can hold."""
    columns = spec.key_columns
    whole = [f"{identifier(column.name)} IS NOT NULL" for column in columns]
    fit = [f"NOT COALESCE({test}, FALSE)" for column in columns if (test := travel(column).unfit)]
    return Condition(" AND ".join([*whole, *fit]))


def printed_hash(columns: Sequence[Column]) -> str:
    """SQL for a number of what a row holds, for the server's own comparisons."""
    # Of any server: since 9.6 MySQL has MD5 in a component alone.
    printed = _joined([f"COALESCE({travel(column).printed}, '{NULL}')" for column in columns])
    return _number(f"SHA2({printed}, 256)")


def row_hash(columns: Sequence[Column]) -> str:
    """SQL for the first 60 bits of the MD5 of the row's canonical text: see `databases/measure.py`."""
    return _number(f"MD5({_row_text(columns)})")


def value_of(spec: TableSpec, found: str | None) -> CursorValue | None:
    """The cursor value of a text that the server prints; None for NULL."""
    kind = cursor_of(spec).type
    if found is None:
        return None
    if kind is CursorType.DATE:
        # A datetime may be followed by its days.
        return CursorValue.parse(kind, found[:10])
    return CursorValue.parse(kind, found + ("Z" if kind is CursorType.TIMESTAMP else ""))


def _measure(connection: Connection, spec: TableSpec, window: Window) -> Measure:
    rows = chosen(spec, _inside(spec, (window,)) & _landable(spec) & _unmarked(spec))
    sql = f"SELECT COUNT(*), {summed_hashes(row_hash(spec.columns))} FROM {relation(spec.id)} WHERE {rows.sql}"
    count, total = connection.row(sql, rows.values)
    return Measure(window, int(count), checked_sum(connection, spec, total))


def _inside(spec: TableSpec, windows: Sequence[Window]) -> Condition:
    """A row without a cursor lies in no window but the one that is open on both sides."""
    if spec.read_by is None or not windows:
        return EVERY
    return either(_part(spec, window) for window in merge(windows))


def _part(spec: TableSpec, window: Window) -> Condition:
    is_whole = window.lower is None and window.upper is None
    return inside(spec, window, nulls=is_whole and cursor_of(spec).nulls is not NullPolicy.SKIP)


def _compared(spec: TableSpec, windows: Sequence[Window], places: KeyParts | None) -> Condition:
    rows = _inside(spec, windows) & _landable(spec) & _unmarked(spec)
    return rows if places is None else rows & at_places(spec, places)


def _landable(spec: TableSpec) -> Condition:
    """Rows of which Spark can hold every value."""
    unfit = [f"COALESCE({test}, FALSE)" for column in spec.read_columns if (test := travel(column).unfit)]
    return Condition(f"NOT ({' OR '.join(unfit)})") if unfit else EVERY


def _unmarked(spec: TableSpec) -> Condition:
    """Rows of which the source does not say itself that they are gone, where such rows leave the copy."""
    deletes = spec.deletes
    if not deletes.drops_marked:
        return EVERY
    column = next(each for each in spec.columns if each.name == deletes.column)
    if deletes.value is None:
        return Condition(f"{identifier(column.name)} IS NULL")
    way = travel(column)
    text = way.canonical if column.spark_type == "boolean" else f"CONVERT({way.select} USING utf8mb4)"
    return Condition(f"NOT COALESCE(BINARY {text} = BINARY %s, FALSE)", (deletes.value,))


def _key(spec: TableSpec) -> str:
    if not spec.key:
        return f"CAST({row_hash(spec.columns)} AS CHAR)"
    return _one_text(_key_columns(spec))


def _one_text(columns: Sequence[Column]) -> str:
    """A key of one text is that text."""
    if len(columns) == 1 and columns[0].spark_type == "string":
        return f"COALESCE(CONVERT({travel(columns[0]).select} USING utf8mb4), '{NULL}')"
    return _row_text(columns)


def _key_columns(spec: TableSpec) -> list[Column]:
    by_name = {column.name: column for column in spec.columns}
    return [by_name[name] for name in spec.key]


def _row_text(columns: Sequence[Column]) -> str:
    return _joined([_text_of(column) for column in columns])


def _text_of(column: Column) -> str:
    """The canonical text of a value. Of a long one the server may make none, which is not that of NULL."""
    text = travel(column).canonical
    if column.spark_type in ("string", "binary"):
        is_null = " OR ".join(f"{identifier(each.name)} IS NULL" for each in column.of or (column,))
        return f"IF({is_null}, '{NULL}', {text})"
    return f"COALESCE({text}, '{NULL}')"


def _joined(texts: Sequence[str]) -> str:
    """Missing where one of them is."""
    separated = f", '{SEPARATOR}', ".join(texts)
    return f"CONCAT({separated})"


def _number(digits: str) -> str:
    return f"CAST(CONV(LEFT({digits}, 15), 16, 10) AS UNSIGNED)"
