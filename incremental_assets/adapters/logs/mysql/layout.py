"""A table whose rows are read of the binlog: its columns as a snapshot's catalogue has them, and how a value of each is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from incremental_assets.adapters.databases.mysql.types import spark_type
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.mysql.row_values import Read, reader_of
from incremental_assets.adapters.logs.mysql.table_map import (
    BIT,
    BLOB,
    DECIMAL,
    ENUM,
    JSON,
    SET,
    STRING,
    Mapped,
    TableMap,
)
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.cures import LOAD_AGAIN

_NAMES = {
    1: "tinyint",
    2: "smallint",
    3: "int",
    9: "mediumint",
    8: "bigint",
    4: "float",
    5: "double",
    13: "year",
    10: "date",
    14: "date",
    JSON: "json",
    255: "geometry",
    ENUM: "enum",
    SET: "set",
}
_TEXTS = {
    15: ("varchar", "varbinary"),
    253: ("varchar", "varbinary"),
    STRING: ("char", "binary"),
    BLOB: ("text", "blob"),
    249: ("text", "blob"),
    250: ("text", "blob"),
    251: ("text", "blob"),
}
_MOMENTS = {17: "timestamp", 18: "datetime", 19: "time"}


@dataclass(frozen=True, slots=True)
class Layout:
    """Implements `segments.writing.Layout`."""

    number: int
    place: tuple[str, str]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """`readers`: of all columns that rows have; `wanted`: the places of those of the layout; `key`: the places of the key among these."""

    layout: Layout
    readers: tuple[Read, ...]
    wanted: tuple[int, ...]
    key: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What the catalogue says of a table now, by its columns' names, for what no log says: which are unsigned, and in which charset labels are."""

    unsigned: Mapping[str, bool]
    charsets: Mapping[str, str]
    columns: tuple[Column, ...]


def emptied(followed: Followed, place: tuple[str, str], shape: Shape) -> Layout:
    """The layout of a table of which the range has no row."""
    return Layout(followed.oid, place, tuple(each for each in shape.columns if each.name not in followed.left_out))


def reading_of(found: TableMap, followed: Followed, collations: Mapping[int, str], shape: Shape) -> Reading:
    """`collations`: the charset of each. Raises SchemaChanged where rows of it cannot be read, with the cure."""
    mapped = _sure(found, shape)
    if not all(each.name for each in mapped):
        raise SchemaChanged(
            f"rows of it were written without the names of their columns; SET GLOBAL binlog_row_metadata = FULL, and load it again with {LOAD_AGAIN}"
        )
    names = [each.name for each in mapped]
    missing = [name for name in followed.key if name not in names]
    if missing:
        raise SchemaChanged(f"rows of it were written when it had no {missing[0]}; load it again with {LOAD_AGAIN}")
    charsets = [_charset(each, collations, shape) for each in mapped]
    columns = [_column(each, charset) for each, charset in zip(mapped, charsets, strict=True)]
    readers = [reader_of(each, charset) for each, charset in zip(mapped, charsets, strict=True)]
    unread = [column for column, read in zip(columns, readers, strict=True) if read is None]
    if unread:
        raise SchemaChanged(
            f"its column {unread[0].name!r} was written as {unread[0].source_type}, which is not read of the binlog; write a cursor in place of `capture`"
        )
    wanted = tuple(place for place, name in enumerate(names) if name not in followed.left_out)
    kept = [names[place] for place in wanted]
    layout = Layout(followed.oid, (found.schema, found.name), tuple(columns[place] for place in wanted))
    return Reading(layout, tuple(filter(None, readers)), wanted, tuple(kept.index(name) for name in followed.key))


def _sure(found: TableMap, shape: Shape) -> tuple[Mapped, ...]:
    """Of two ways to read which columns are unsigned the one that the catalogue tells."""
    if not found.or_else:
        return found.columns
    for columns in (found.columns, found.or_else):
        if all(each.unsigned == shape.unsigned.get(each.name) for each in columns if each.name in shape.unsigned):
            return columns
    raise SchemaChanged(
        f"nothing tells which of its numbers were unsigned when its rows were written; load it again with {LOAD_AGAIN}"
    )


def _column(mapped: Mapped, charset: str) -> Column:
    declared = _declared(mapped, charset)
    return Column(mapped.name, declared, *spark_type(declared))


def _charset(mapped: Mapped, collations: Mapping[int, str], shape: Shape) -> str:
    """Of a type without characters the log tells none, and of labels some versions of a server do not."""
    if mapped.collation:
        return collations.get(mapped.collation, "unknown")
    return shape.charsets.get(mapped.name, "unknown") if mapped.type in (ENUM, SET) else "binary"


def _declared(mapped: Mapped, charset: str) -> str:
    kind, sign = mapped.type, " unsigned" if mapped.unsigned else ""
    if kind in _TEXTS:
        return _TEXTS[kind][charset == "binary"] + (
            "" if charset != "unknown" else f" of the collation {mapped.collation}"
        )
    if kind == DECIMAL:
        return f"decimal({mapped.size},{mapped.digits}){sign}"
    if kind == BIT:
        return f"bit({8 * mapped.size + mapped.digits})"
    if kind in _MOMENTS:
        return f"{_MOMENTS[kind]}({mapped.size})" if mapped.size else _MOMENTS[kind]
    return f"{_NAMES[kind]}{sign}" if kind in _NAMES else f"a type of the number {kind}"
