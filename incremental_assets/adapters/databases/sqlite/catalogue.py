"""The catalogue of a SQLite file: columns as declared, and the keys that hold for every row."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from incremental_assets.adapters.databases.sentences import UNDESCRIBED
from incremental_assets.adapters.databases.sqlite.collation import BINARY, column_collations, compared
from incremental_assets.adapters.databases.sqlite.damaged_schema import unread
from incremental_assets.adapters.databases.sqlite.definition import FileSchema, draws_numbers_once
from incremental_assets.adapters.databases.sqlite.errors import is_of_one_object
from incremental_assets.adapters.databases.sqlite.stamps.columns import renumbering, stamping_of
from incremental_assets.adapters.databases.sqlite.stamps.nested import AllTriggers
from incremental_assets.adapters.databases.sqlite.stamps.trigger import Table, Trigger
from incremental_assets.adapters.databases.sqlite.types import is_unicode, readings, spark_type
from incremental_assets.adapters.databases.stamps.reading import TIMES
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.column import Sequence as Numbers
from incremental_assets.core.model.stamping import Stamping
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape

SCHEMA = "main"
_TABLES = """
SELECT l.name, l.type, l.strict, coalesce(s.sql, '') FROM pragma_table_list AS l LEFT JOIN sqlite_schema AS s ON s.name = l.name AND s.type = l.type
WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND (?1 = '' OR l.name = ?1) ORDER BY l.name
"""
_COLUMNS = 'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid'
_DEFAULTS = "SELECT name, dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1"
_TRIGGERS = """
SELECT tbl_name, name, sql FROM sqlite_schema WHERE type = 'trigger'
AND (instr(lower(sql), lower(?1)) OR EXISTS (SELECT 1 FROM sqlite_schema AS own WHERE own.type = 'trigger' AND own.tbl_name = ?1 COLLATE NOCASE)) ORDER BY name
"""
_INDEXES = 'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial ORDER BY seq'
_INDEXED = "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno"
_COUNTS = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'"
_OWN_INDEX = "SELECT 1 FROM pragma_index_list(?) WHERE origin = 'pk'"
_LAST = "SELECT seq FROM sqlite_sequence WHERE name = ?"


@dataclass(frozen=True, slots=True)
class Listed:
    """A table or view as the file lists it; `counts`: whether no number of its rows comes again, not even that of one which was deleted."""

    kind: str
    strict: bool
    sql: str
    counts: bool


def read_catalogue(
    connection: sqlite3.Connection, source: str, schemas: Sequence[str], name: str = "", file: str = ""
) -> tuple[TableShape, ...]:
    """Every table and view of the file, or only that of one name, without facts; `file`: see `FileSchema`. Virtual tables, and not the shadow tables in which their modules keep them."""
    if SCHEMA not in schemas:
        return ()
    damaged, schema = unread(connection, name), None if name else FileSchema.of(connection, file)
    found = [
        _with_facts(
            _described(
                connection,
                TableId(source, SCHEMA, table),
                Listed(kind, bool(strict), sql, draws_numbers_once(sql)),
            ),
            schema,
        )
        for table, kind, strict, sql in _ask(connection, _TABLES, (name,))
        if table not in damaged
    ]
    found += [_undescribed(TableId(source, SCHEMA, table), why) for table, why in damaged.items()]
    return tuple(sorted(found, key=lambda shape: shape.id))


def _described(connection: sqlite3.Connection, table: TableId, listed: Listed) -> TableShape:
    """The shape, or why the library does not tell it: a view is looked through, down to the tables and functions that it names."""
    if not is_unicode(table.name):
        readable = table.name.encode(errors="backslashreplace").decode()
        return _undescribed(TableId(table.source, table.schema, readable), "its name is not UTF-8")
    try:
        shape = _shape(connection, table, listed)
    except sqlite3.Error as error:
        if not is_of_one_object(error):
            raise
        return _undescribed(table, str(error))
    return shape if all(map(is_unicode, shape.names)) else _undescribed(table, "the name of a column is not UTF-8")


def _with_facts(shape: TableShape, schema: FileSchema | None) -> TableShape:
    if shape.undescribed or schema is None:
        return shape
    return replace(shape, facts=schema.facts(shape.id.name, shape.names))


def _undescribed(table: TableId, why: str) -> TableShape:
    return TableShape(table, (), undescribed=UNDESCRIBED.format(why))


def _shape(connection: sqlite3.Connection, table: TableId, listed: Listed) -> TableShape:
    declared, defaults = _ask(connection, _COLUMNS, (table.name,)), dict(_ask(connection, _DEFAULTS, (table.name,)))
    key = tuple(name for name, _, _, place in sorted(declared, key=lambda each: each[3]) if place)
    # The one column that is the row's number: never NULL, and always a whole number. It needs no index; `INTEGER PRIMARY KEY DESC` has one, and may be NULL.
    alias = key[0] if len(key) == 1 and not _ask(connection, _OWN_INDEX, (table.name,)) else ""
    sequence = Numbers("sqlite_sequence") if alias and listed.counts else None
    plain = {
        name: Column(
            name,
            text or "any",
            *spark_type(text),
            not (notnull or name == alias),
            sequence=sequence if name == alias else None,
            readings=readings(text),
        )
        for name, text, notnull, _ in declared
    }
    own = column_collations(listed.sql, tuple(plain)) if listed.kind == "table" else {}
    columns = tuple(compared(column, own.get(name, BINARY), strict=listed.strict) for name, column in plain.items())
    indexes = [_ask(connection, _INDEXED, index) for index in _ask(connection, _INDEXES, (table.name,))]
    filled = {column.name for column in columns if not column.nullable}
    # NULLs are not equal to each other, and an expression is no column.
    enforced = [dict(index) for index in indexes if filled.issuperset(name for name, _ in index)]
    by_index = [
        tuple(compared(plain[name], collation, strict=listed.strict) for name, collation in index.items())
        for index in enforced
    ]
    triggers: dict[str, list[Trigger]] = defaultdict(list)
    for of, name, sql in _ask(connection, _TRIGGERS, (table.name,)):
        triggers[of.lower()].append(Trigger(name, sql))
    nullable = [column.name for column in columns if column.nullable]
    stampings = _stampings(connection, (Table(table.name, key, nullable), triggers), columns, defaults)
    if sequence is not None:
        last = _ask(connection, _LAST, (table.name,)) if _ask(connection, _COUNTS) else []
        sequence = replace(
            sequence,
            trigger=renumbering(alias, Table(table.name, key), triggers[table.name.lower()]),
            last=last[0][0] if last and isinstance(last[0][0], int) else None,
        )
    return TableShape(
        id=table,
        columns=tuple(
            replace(each, stamps=stampings.get(each.name), sequence=each.sequence and sequence) for each in columns
        ),
        primary_key=key if filled.issuperset(key) else (),
        own_key=() if filled.issuperset(key) else key,
        unique_keys=tuple(tuple(index) for index in enforced if tuple(index) != key),
        indexed_keys=tuple(index for index in by_index if not set(columns).issuperset(index)),
        arrivals=(Arrival.VIEW,) if listed.kind == "view" else (),
    )


def _stampings(
    connection: sqlite3.Connection,
    of: tuple[Table, AllTriggers],
    columns: Sequence[Column],
    defaults: Mapping[str, str],
) -> dict[str, Stamping]:
    """What stamps each column of times; those of a view, by no trigger that we know."""
    table, triggers = of
    ((version,),) = _ask(connection, "PRAGMA schema_version")
    return {
        each.name: stamping_of(each.name, defaults.get(each.name) or "", table, triggers, version)
        for each in columns
        if each.spark_type in TIMES or each.readings
    }


def _ask(connection: sqlite3.Connection, sql: str, values: Sequence[str] = ()) -> list[tuple]:
    return connection.execute(sql, values).fetchall()
