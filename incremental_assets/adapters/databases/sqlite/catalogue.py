"""The catalogue of a SQLite file: columns as declared, and the keys that hold for every row."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from sqlite3 import SQLITE_ERROR

from incremental_assets.adapters.databases.sentences import UNDESCRIBED
from incremental_assets.adapters.databases.sqlite.damaged_schema import unread
from incremental_assets.adapters.databases.sqlite.definition import FileSchema
from incremental_assets.adapters.databases.sqlite.stamps.columns import Trigger, stamping_of
from incremental_assets.adapters.databases.sqlite.stamps.trigger import Table
from incremental_assets.adapters.databases.sqlite.types import is_unicode, readings, spark_type
from incremental_assets.adapters.databases.stamps.reading import TIMES
from incremental_assets.core.model.stamping import Stamping
from incremental_assets.core.model.table import Arrival, Column, TableId, TableShape
from incremental_assets.core.model.table import Sequence as Numbers

SCHEMA = "main"
_TABLES = """
SELECT name, type, wr FROM pragma_table_list
WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND (?1 = '' OR name = ?1) ORDER BY name
"""
_COLUMNS = 'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid'
_DEFAULTS = "SELECT name, dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1"
_TRIGGERS = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE ORDER BY name"
_INDEXES = 'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial ORDER BY seq'
_INDEXED = "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno"


def read_catalogue(
    connection: sqlite3.Connection, source: str, schemas: Sequence[str], name: str = ""
) -> tuple[TableShape, ...]:
    """Every table and view of the file, or only that of one name; virtual tables, and not the shadow tables in which their modules keep them."""
    if SCHEMA not in schemas:
        return ()
    counted = {table for (table,) in _ask(connection, "SELECT name FROM sqlite_schema WHERE name = 'sqlite_sequence'")}
    damaged, schema = unread(connection, name), None if name else FileSchema.of(connection)
    found = [
        _with_facts(
            _described(connection, TableId(source, SCHEMA, table), kind, rowid=not without_rowid, counts=bool(counted)),
            schema,
        )
        for table, kind, without_rowid in _ask(connection, _TABLES, (name,))
        if table not in damaged
    ]
    found += [_undescribed(TableId(source, SCHEMA, table), why) for table, why in damaged.items()]
    return tuple(sorted(found, key=lambda shape: shape.id))


def _described(connection: sqlite3.Connection, table: TableId, kind: str, *, rowid: bool, counts: bool) -> TableShape:
    """The shape, or why the library does not tell it: a view is looked through, down to the tables and functions that it names."""
    if not is_unicode(table.name):
        readable = table.name.encode(errors="backslashreplace").decode()
        return _undescribed(TableId(table.source, table.schema, readable), "its name is not UTF-8")
    try:
        shape = _shape(connection, table, kind, rowid=rowid, counts=counts)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != SQLITE_ERROR:
            raise
        return _undescribed(table, str(error))
    return shape if all(map(is_unicode, shape.names)) else _undescribed(table, "the name of a column is not UTF-8")


def _with_facts(shape: TableShape, schema: FileSchema | None) -> TableShape:
    if shape.undescribed or schema is None:
        return shape
    return replace(shape, facts=schema.facts(shape.id.name, shape.names))


def _undescribed(table: TableId, why: str) -> TableShape:
    return TableShape(table, (), undescribed=UNDESCRIBED.format(why))


def _shape(connection: sqlite3.Connection, table: TableId, kind: str, *, rowid: bool, counts: bool) -> TableShape:
    declared, defaults = _ask(connection, _COLUMNS, (table.name,)), dict(_ask(connection, _DEFAULTS, (table.name,)))
    key = tuple(name for name, _, _, place in sorted(declared, key=lambda each: each[3]) if place)
    # The one column that is the row's number: never NULL, and always a whole number.
    alias = key[0] if rowid and len(key) == 1 and _type_of(declared, key[0]) == "INTEGER" else ""
    sequence = Numbers("sqlite_sequence") if alias and counts and _counts(connection, table.name) else None
    indexed = [_ask(connection, _INDEXED, index) for index in _ask(connection, _INDEXES, (table.name,))]
    collations: dict[str, set[str]] = defaultdict(set)
    for column, collation in (part for index in indexed for part in index):
        collations[column].add(collation)
    columns = tuple(
        Column(
            name,
            text or "any",
            *spark_type(text),
            not (notnull or name == alias),
            sequence=sequence if name == alias else None,
            readings=readings(text),
            equality=_equality(text, collations.get(name, set())),
        )
        for name, text, notnull, _ in declared
    )
    filled = {column.name for column in columns if not column.nullable}
    indexes = [tuple(column for column, _ in index) for index in indexed]
    # NULLs are not equal to each other, and an expression is no column.
    unique = tuple(index for index in indexes if None not in index and filled.issuperset(index) and index != key)
    stampings = _stampings(connection, Table(table.name, key), columns, defaults)
    return TableShape(
        id=table,
        columns=tuple(replace(each, stamps=stampings.get(each.name)) for each in columns),
        primary_key=key if filled.issuperset(key) else (),
        own_key=() if filled.issuperset(key) else key,
        unique_keys=unique,
        arrivals=(Arrival.VIEW,) if kind == "view" else (),
    )


def _equality(declared: str, collations: AbstractSet[str]) -> str:
    """By what its unique indexes, or SQLite itself where it keeps any value as it comes, take values for equal that a copy tells apart."""
    others = sorted(each for each in collations if each.upper() != "BINARY")
    if others:
        return f"the collation {others[0]}"
    return "" if declared and declared.upper() != "ANY" else "a column of no type, in which 1 is 1.0"


def _stampings(
    connection: sqlite3.Connection, table: Table, columns: Sequence[Column], defaults: Mapping[str, str]
) -> dict[str, Stamping]:
    """What stamps each column of times; those of a view, by no trigger that we know."""
    triggers = [Trigger(name, sql) for name, sql in _ask(connection, _TRIGGERS, (table.name,))]
    ((version,),) = _ask(connection, "PRAGMA schema_version")
    return {
        each.name: stamping_of(each.name, defaults.get(each.name) or "", table, triggers, version)
        for each in columns
        if each.spark_type in TIMES or each.readings
    }


def _counts(connection: sqlite3.Connection, table: str) -> bool:
    """Whether no number comes again, not even that of a row which was deleted."""
    found = _ask(connection, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,))
    return any("AUTOINCREMENT" in (text or "").upper() for (text,) in found)


def _type_of(declared: Sequence[tuple[str, str, int, int]], column: str) -> str:
    return next(text.upper() for name, text, _, _ in declared if name == column)


def _ask(connection: sqlite3.Connection, sql: str, values: Sequence[str] = ()) -> list[tuple]:
    return connection.execute(sql, values).fetchall()
