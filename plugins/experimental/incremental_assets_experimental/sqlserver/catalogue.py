"""What the database's catalogue says of the tables that this user may see. It is of this moment, whatever snapshot is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incremental_assets.core.model.column import Column
from incremental_assets.core.model.column import Sequence as Numbers
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape
from incremental_assets_experimental.rowwise.listed import Place, by_table, keys_of
from incremental_assets_experimental.rowwise.row_dialect import Row, RowConnection
from incremental_assets_experimental.sqlserver.types import declared, spark_type
from incremental_assets_experimental.sqlserver.words import text, texts

_TABLES = """
SELECT s.name, o.name, o.type, HAS_PERMS_BY_NAME(QUOTENAME(s.name) + N'.' + QUOTENAME(o.name), N'OBJECT', N'SELECT'),
       (SELECT SUM(p.rows) FROM sys.partitions AS p WHERE p.object_id = o.object_id AND p.index_id < 2),
       (SELECT SUM(a.used_pages) * 8192 FROM sys.partitions AS p JOIN sys.allocation_units AS a ON a.container_id IN (p.hobt_id, p.partition_id)
        WHERE p.object_id = o.object_id AND p.index_id < 2),
       t.is_memory_optimized, t.is_external,
       (SELECT CONVERT(nvarchar(4000), e.value) FROM sys.extended_properties AS e
        WHERE e.class = 1 AND e.major_id = o.object_id AND e.minor_id = 0 AND e.name = N'MS_Description')
FROM sys.objects AS o JOIN sys.schemas AS s ON s.schema_id = o.schema_id LEFT JOIN sys.tables AS t ON t.object_id = o.object_id
WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 AND s.name IN ({schemas}) AND ({name} = N'' OR o.name = {name}) ORDER BY s.name, o.name
"""
_COLUMNS = """
SELECT s.name, o.name, c.name,
       CASE WHEN c.encryption_type IS NOT NULL THEN 'encrypted '
            WHEN c.is_masked = 1 AND HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'UNMASK') = 0 THEN 'masked ' ELSE '' END,
       ISNULL(TYPE_NAME(b.user_type_id), TYPE_NAME(c.user_type_id)), c.max_length, c.precision, c.scale, c.is_nullable,
       CONVERT(bigint, i.increment_value),
       (SELECT CONVERT(nvarchar(4000), e.value) FROM sys.extended_properties AS e
        WHERE e.class = 1 AND e.major_id = o.object_id AND e.minor_id = c.column_id AND e.name = N'MS_Description')
FROM sys.columns AS c JOIN sys.objects AS o ON o.object_id = c.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
LEFT JOIN sys.types AS b ON b.user_type_id = c.system_type_id LEFT JOIN sys.identity_columns AS i ON i.object_id = c.object_id AND i.column_id = c.column_id
WHERE o.type IN ('U', 'V') AND c.is_hidden = 0 AND c.is_column_set = 0 AND s.name IN ({schemas}) AND ({name} = N'' OR o.name = {name})
ORDER BY s.name, o.name, c.column_id
"""
_KEYS = """
SELECT s.name, o.name, x.name, x.is_primary_key, c.name
FROM sys.indexes AS x JOIN sys.objects AS o ON o.object_id = x.object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id
JOIN sys.index_columns AS k ON k.object_id = x.object_id AND k.index_id = x.index_id AND k.key_ordinal > 0
JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id
WHERE x.is_unique = 1 AND x.has_filter = 0 AND x.is_disabled = 0 AND o.type = 'U'
  AND s.name IN ({schemas}) AND ({name} = N'' OR o.name = {name}) ORDER BY s.name, o.name, x.index_id, k.key_ordinal
"""
_SCHEMAS = "SELECT name FROM sys.schemas WHERE name IN ({schemas})"
_HIDING = """
SELECT s.name, o.name FROM sys.security_predicates AS p JOIN sys.security_policies AS y ON y.object_id = p.object_id AND y.is_enabled = 1
JOIN sys.objects AS o ON o.object_id = p.target_object_id JOIN sys.schemas AS s ON s.schema_id = o.schema_id WHERE p.predicate_type = 0
"""


def read_catalogue(
    connection: RowConnection, source: str, schemas: Sequence[str], name: str = ""
) -> tuple[TableShape, ...]:
    """Every table and view of the schemas, or only those of one name; those that this user may not read after the others."""
    if not schemas:
        return ()
    wanted = {"schemas": texts(schemas), "name": text(name)}
    columns = by_table(connection.rows(_COLUMNS.format(**wanted)))
    keys = by_table(connection.rows(_KEYS.format(**wanted)))
    hiding = hiding_tables(connection)
    shapes = [
        _shape(TableId(source, str(schema), str(table)), tuple(rest), columns[schema, table], keys[schema, table])
        for schema, table, *rest in list(connection.rows(_TABLES.format(**wanted)))
    ]
    found = [_with_filter(shape, hides=(shape.id.schema, shape.id.name) in hiding) for shape in shapes]
    return tuple(sorted(found, key=lambda shape: not shape.readable))


def missing_schemas(connection: RowConnection, schemas: Sequence[str]) -> tuple[str, ...]:
    """Those that the database does not have, or does not show."""
    there = {name for (name,) in connection.rows(_SCHEMAS.format(schemas=texts(schemas)))}
    return tuple(schema for schema in schemas if schema not in there)


def hiding_tables(connection: RowConnection) -> set[Place]:
    """Tables with a security policy that filters, as far as this user may see it."""
    return {(str(schema), str(table)) for schema, table in connection.rows(_HIDING)}


def _with_filter(shape: TableShape, *, hides: bool) -> TableShape:
    return replace(shape, filtered=True) if hides else shape


def _shape(table: TableId, rest: Row, declared_columns: Sequence[Row], key_columns: Sequence[Row]) -> TableShape:
    kind, readable, rows, size, in_memory, external, comment = rest
    if not readable:
        return TableShape(table, (), readable=False)
    columns = tuple(_column(table, each) for each in declared_columns)
    filled = {column.name for column in columns if not column.nullable}
    primary, unique = keys_of(key_columns)
    return TableShape(
        id=table,
        columns=columns,
        primary_key=primary,
        # A unique index takes one NULL, which a row may lose and another one get.
        unique_keys=tuple(key for key in unique if filled.issuperset(key)),
        comment=comment or "",
        rows=int(rows or 0),
        bytes=int(size or 0),
        arrivals=_arrivals(str(kind).strip(), in_memory=bool(in_memory), external=bool(external)),
        # A view shows those of a table, whose rows may come to be seen later.
        numbering=next(
            (column for column in columns if column.source_type == "rowversion" and str(kind).strip() == "U"), None
        ),
    )


def _column(table: TableId, row: Row) -> Column:
    name, hindrance, kind, length, precision, scale, nullable, increment, comment = row
    source_type = f"{hindrance}{declared(str(kind), int(length), int(precision), int(scale))}"
    numbers = None
    if increment is not None:
        numbers = Numbers(f"IDENTITY of {table.name}", step=int(increment))
    elif source_type == "rowversion":
        numbers = Numbers("rowversion of the database")
    return Column(
        str(name),
        source_type,
        *spark_type(source_type),
        nullable=bool(nullable),
        comment=comment or "",
        sequence=numbers,
    )


def _arrivals(kind: str, *, in_memory: bool, external: bool) -> tuple[Arrival, ...]:
    if kind == "V":
        return (Arrival.VIEW,)
    if external:
        return (Arrival.FOREIGN,)
    # Its versions are not those of the snapshot.
    return (Arrival.UNTRACKED,) if in_memory else ()
