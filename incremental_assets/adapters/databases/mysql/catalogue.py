"""What the server's catalogue says of the tables that this user may read. A schema is a database of the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pymysql

from incremental_assets.adapters.databases.mysql.collation import compared
from incremental_assets.adapters.databases.mysql.connect import Connection, Text
from incremental_assets.adapters.databases.mysql.definition import FILES, KINDS, MADE, VIEWS, facts, shown_by
from incremental_assets.adapters.databases.mysql.errors import LOCK_WAIT, NO_TABLE, parts_of
from incremental_assets.adapters.databases.mysql.sql import relation
from incremental_assets.adapters.databases.mysql.stamps.columns import (
    Declared,
    Trigger,
    renumbering,
    stamping_of,
    without_brought,
)
from incremental_assets.adapters.databases.mysql.transactions import NO_PRIVILEGE
from incremental_assets.adapters.databases.mysql.types import spark_type
from incremental_assets.adapters.databases.mysql.unstamped import NONE, Unstamped, unstamped
from incremental_assets.adapters.databases.mysql.zone import zones_at_connect
from incremental_assets.adapters.databases.sentences import LOCKED, UNDESCRIBED
from incremental_assets.adapters.databases.stamps.reading import TIMES
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.column import Sequence as Numbers
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape

_MOMENT = 1
"""Seconds for which a table is waited for that another session is altering, or making: the server would wait as long as a question may take, and no table would be described."""
_FOREIGN = ("FEDERATED", "CONNECT", "SPIDER")
_TABLES = f"""
SELECT table_schema, table_name, table_type, engine, IF(table_type = 'VIEW', '', table_comment), COALESCE(table_rows, 0), COALESCE(data_length, 0), {MADE}
FROM information_schema.tables
WHERE table_schema IN ({{}}) AND table_type IN {KINDS} AND (%s = '' OR table_name = BINARY %s)
"""
_COLUMNS = """
SELECT table_schema, table_name, column_name, column_type, is_nullable, column_comment, extra, column_default, collation_name,
       ordinal_position, generation_expression FROM information_schema.columns
WHERE table_schema IN ({}) AND (%s = '' OR table_name = BINARY %s) ORDER BY table_schema, table_name, ordinal_position
"""
_KEYS = """
SELECT table_schema, table_name, index_name, column_name FROM information_schema.statistics
WHERE non_unique = 0 AND table_schema IN ({}) AND (%s = '' OR table_name = BINARY %s) ORDER BY table_schema, table_name, index_name, seq_in_index
"""
# Those of a table are shown to whoever may make some for it. Of whatever table they are, they may write rows of any other.
_TRIGGERS = """
SELECT event_object_schema, event_object_table, trigger_name, event_manipulation, action_statement, COALESCE(created, ''), action_timing
FROM information_schema.triggers WHERE event_object_schema IN ({})
ORDER BY event_object_schema, event_object_table, action_order
"""
_ALL_SCHEMAS = "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys') ORDER BY 1"
_SCHEMAS = "SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ({})"

Keys = Mapping[str, tuple[str, ...]]


def read_catalogue(
    connection: Connection, source: str, schemas: Sequence[str], name: str = ""
) -> tuple[TableShape, ...]:
    """Every table and view of the schemas, or only those of one name."""
    columns: dict[tuple[Text, Text], list[tuple[Text, ...]]] = defaultdict(list)
    for schema, table, *column in _ask(connection, _COLUMNS, schemas, name):
        columns[schema, table].append(tuple(column))
    keys: dict[tuple[Text, Text], dict[str, tuple[str, ...]]] = defaultdict(dict)
    for schema, table, index, column_name in _ask(connection, _KEYS, schemas, name):
        before = keys[schema, table].get(str(index), ())
        keys[schema, table][str(index)] = (*before, str(column_name))
    triggers: dict[tuple[Text, Text], list[Trigger]] = defaultdict(list)
    for schema, table, *trigger in connection.rows(_TRIGGERS.format(_marks(schemas)), schemas) if schemas else ():
        triggers[schema, table].append(Trigger(*map(str, trigger)))
    listed = _listed(connection, schemas, name)
    known, zones = facts(listed, columns), zones_at_connect(connection)
    shapes = (
        replace(
            _shape(
                connection,
                TableId(source, str(schema), str(table)),
                tuple(rest),
                columns[schema, table],
                keys[schema, table],
            ),
            facts=known[schema, table],
            zones=zones,
        )
        for schema, table, *rest, _ in sorted(row for row in listed if row[2] in KINDS and (row[0], row[1]) in known)
    )
    beside = unstamped(connection, listed, known)
    return tuple(
        _stamped(
            shape, columns[shape.id.schema, shape.id.name], triggers, beside.get((shape.id.schema, shape.id.name), NONE)
        )
        for shape in shapes
    )


def _listed(connection: Connection, schemas: Sequence[str], name: str) -> list[tuple[Text, ...]]:
    """The tables, and behind those of all names what else there is to say of them, where this user may see it."""
    if name or not schemas:
        return _ask(connection, _TABLES, schemas, name)
    marks, flavour = _marks(schemas), connection.flavour
    tables = f"{_TABLES}{VIEWS}{flavour.checks}".format(*[marks] * 3)
    values = (*schemas, name, name, *schemas, *(schemas if flavour.checks else ()))
    try:
        return connection.rows(f"{tables} {FILES.format(flavour.files)} {flavour.foreign_keys}", values)
    except pymysql.OperationalError as error:
        if error.args[0] != NO_PRIVILEGE:
            raise
        return connection.rows(tables, values)


def described(connection: Connection, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
    """The same, of tables that others may alter meanwhile; one of which the server does not tell the columns says why."""
    with connection.waiting(_MOMENT):
        found = (_told(connection, shape) for shape in read_catalogue(connection, source, schemas))
        return tuple(shape for shape in found if shape is not None)


def schemas(connection: Connection) -> tuple[str, ...]:
    """Every database that the server shows this user, but for its own."""
    return tuple(name or "" for (name,) in connection.rows(_ALL_SCHEMAS))


def missing_schemas(connection: Connection, schemas: Sequence[str]) -> tuple[str, ...]:
    """Those that the server does not have, or that this user may not see."""
    there = {name for (name,) in connection.rows(_SCHEMAS.format(_marks(schemas)), schemas)}
    return tuple(schema for schema in schemas if schema not in there)


def _told(connection: Connection, shape: TableShape) -> TableShape | None:
    """None for a table that is gone by now."""
    if shape.columns:
        return shape
    try:
        connection.execute(f"SELECT * FROM {relation(shape.id)} LIMIT 0")
    except pymysql.Error as error:
        number, words = parts_of(error)
        if number == NO_TABLE and f"{shape.id.schema}.{shape.id.name}" in words:
            return None
        # What ends the connection ends this, too.
        connection.execute("DO 0")
        return replace(shape, undescribed=LOCKED if number == LOCK_WAIT else UNDESCRIBED.format(words))
    return shape


def _stamped(
    shape: TableShape,
    declared: Sequence[tuple[Text, ...]],
    triggers: Mapping[tuple[Text, Text], Sequence[Trigger]],
    beside: Unstamped,
) -> TableShape:
    """With what stamps each column of times, and whether a trigger gives other numbers than are drawn."""
    texts = [tuple(each or "" for each in column) for column in declared]
    table = [
        Declared(name, kind, default, generated, extra, column.nullable)
        for (name, kind, _, _, extra, default, _, _, generated), column in zip(texts, shape.columns, strict=True)
        if column.spark_type in TIMES
    ]
    name = (shape.id.schema, shape.id.name)
    own = [each for each in triggers.get(name, ()) if each.timing == "BEFORE"]
    others = [each for of, found in triggers.items() if of != name for each in found] if table else []
    stampings = {
        each.name: without_brought(stamping_of(each, table, own, beside), shape.id.name, each.name, others)
        for each in table
    }
    numbers = {
        each.name: each.sequence and replace(each.sequence, trigger=renumbering(each.name, own))
        for each in shape.columns
    }
    columns = (replace(each, stamps=stampings.get(each.name), sequence=numbers[each.name]) for each in shape.columns)
    return replace(shape, columns=tuple(columns))


def _shape(
    connection: Connection, table: TableId, rest: tuple[Text, ...], declared: Sequence[tuple[Text, ...]], keys: Keys
) -> TableShape:
    kind, engine, comment, rows, size = rest
    columns = tuple(_column(connection, table, each) for each in declared)
    filled = {column.name for column in columns if not column.nullable}
    primary = keys.get("PRIMARY", ())
    return TableShape(
        id=table,
        columns=columns,
        primary_key=primary if filled.issuperset(primary) else (),
        # NULLs are not equal to each other.
        unique_keys=tuple(key for index, key in keys.items() if index != "PRIMARY" and filled.issuperset(key)),
        comment=comment or "",
        rows=int(rows or 0),
        bytes=int(size or 0),
        arrivals=_arrivals(kind, engine),
        by_itself=kind == "BASE TABLE" and engine == "InnoDB",
    )


def _column(connection: Connection, table: TableId, declared: tuple[Text, ...]) -> Column:
    name, kind, nullable, comment, extra, _, collation, _, expression = (each or "" for each in declared)
    compares, no_key = compared(connection, kind, collation)
    numbered = "auto_increment" in extra.lower()
    return Column(
        name,
        kind,
        *spark_type(kind),
        nullable == "YES",
        comment,
        sequence=Numbers(f"AUTO_INCREMENT of {table.name}", restarts=False) if numbered else None,
        collation=compares,
        no_key=no_key,
        shown_by=shown_by(extra, expression),
    )


def _arrivals(kind: Text, engine: Text) -> tuple[Arrival, ...]:
    if kind == "VIEW":
        return (Arrival.VIEW,)
    if (engine or "").upper() in _FOREIGN:
        return (Arrival.FOREIGN,)
    return () if engine == "InnoDB" else (Arrival.UNTRACKED,)


def _ask(connection: Connection, sql: str, schemas: Sequence[str], name: str) -> list[tuple[Text, ...]]:
    return connection.rows(sql.format(_marks(schemas)), (*schemas, name, name)) if schemas else []


def _marks(values: Sequence[str]) -> str:
    return ", ".join("%s" for _ in values)
