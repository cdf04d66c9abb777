"""What the database's catalogue says of the tables that this user may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.column import Sequence as Numbers
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import Arrival, TableShape
from incremental_assets_experimental.oracle.types import declared, spark_type
from incremental_assets_experimental.oracle.words import ROW_CHANGE, text, texts
from incremental_assets_experimental.rowwise.listed import Place, by_table, keys_of
from incremental_assets_experimental.rowwise.row_dialect import Row, RowConnection


def _wanted(column: str) -> str:
    """The condition on a schema, and on a name where one is asked for: a text without characters is NULL."""
    return f"IN ({{schemas}}) AND ({{name}} IS NULL OR {column} = {{name}})"


_TABLES = f"""
SELECT o.OWNER, o.OBJECT_NAME, o.OBJECT_TYPE, t.NUM_ROWS, t.NUM_ROWS * t.AVG_ROW_LEN,
       (SELECT COUNT(*) FROM ALL_MVIEWS m WHERE m.OWNER = o.OWNER AND m.MVIEW_NAME = o.OBJECT_NAME),
       (SELECT COUNT(*) FROM ALL_EXTERNAL_TABLES e WHERE e.OWNER = o.OWNER AND e.TABLE_NAME = o.OBJECT_NAME), c.COMMENTS,
       CASE WHEN o.OBJECT_TYPE = 'TABLE' AND t.IOT_TYPE IS NULL AND t.CLUSTER_NAME IS NULL THEN t.DEPENDENCIES END
FROM ALL_OBJECTS o LEFT JOIN ALL_TABLES t ON t.OWNER = o.OWNER AND t.TABLE_NAME = o.OBJECT_NAME
LEFT JOIN ALL_TAB_COMMENTS c ON c.OWNER = o.OWNER AND c.TABLE_NAME = o.OBJECT_NAME
WHERE o.OBJECT_TYPE IN ('TABLE', 'VIEW') AND o.OWNER {_wanted("o.OBJECT_NAME")}
  AND (o.OBJECT_TYPE = 'VIEW' OR (t.TEMPORARY = 'N' AND t.NESTED = 'NO' AND t.SECONDARY = 'N' AND t.DROPPED = 'NO' AND (t.IOT_TYPE IS NULL OR t.IOT_TYPE = 'IOT')))
ORDER BY o.OWNER, o.OBJECT_NAME
"""
_COLUMNS = f"""
SELECT c.OWNER, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE_OWNER, c.DATA_TYPE, CASE WHEN c.DATA_TYPE = 'RAW' THEN c.DATA_LENGTH ELSE c.CHAR_LENGTH END,
       c.CHAR_USED, c.DATA_PRECISION, c.DATA_SCALE, c.NULLABLE, i.SEQUENCE_NAME, i.GENERATION_TYPE, q.INCREMENT_BY, q.CYCLE_FLAG, m.COMMENTS
FROM ALL_TAB_COLS c
LEFT JOIN ALL_TAB_IDENTITY_COLS i ON i.OWNER = c.OWNER AND i.TABLE_NAME = c.TABLE_NAME AND i.COLUMN_NAME = c.COLUMN_NAME
LEFT JOIN ALL_SEQUENCES q ON q.SEQUENCE_OWNER = i.OWNER AND q.SEQUENCE_NAME = i.SEQUENCE_NAME
LEFT JOIN ALL_COL_COMMENTS m ON m.OWNER = c.OWNER AND m.TABLE_NAME = c.TABLE_NAME AND m.COLUMN_NAME = c.COLUMN_NAME
WHERE c.HIDDEN_COLUMN = 'NO' AND c.OWNER {_wanted("c.TABLE_NAME")} ORDER BY c.OWNER, c.TABLE_NAME, c.COLUMN_ID
"""
_KEYS = f"""
SELECT k.OWNER, k.TABLE_NAME, k.CONSTRAINT_NAME, CASE WHEN k.CONSTRAINT_TYPE = 'P' THEN 1 ELSE 0 END, c.COLUMN_NAME
FROM ALL_CONSTRAINTS k JOIN ALL_CONS_COLUMNS c ON c.OWNER = k.OWNER AND c.CONSTRAINT_NAME = k.CONSTRAINT_NAME
WHERE k.CONSTRAINT_TYPE IN ('P', 'U') AND k.STATUS = 'ENABLED' AND k.VALIDATED = 'VALIDATED' AND k.DEFERRABLE = 'NOT DEFERRABLE'
  AND k.OWNER {_wanted("k.TABLE_NAME")} ORDER BY k.OWNER, k.TABLE_NAME, k.CONSTRAINT_NAME, c.POSITION
"""
_SCHEMAS = "SELECT USERNAME FROM ALL_USERS WHERE USERNAME IN ({schemas})"
_HIDING = """
SELECT OBJECT_OWNER, OBJECT_NAME FROM ALL_POLICIES WHERE ENABLE = 'YES' AND SEL = 'YES'
  AND NOT EXISTS (SELECT 1 FROM SESSION_PRIVS WHERE PRIVILEGE = 'EXEMPT ACCESS POLICY')
"""


def read_catalogue(
    connection: RowConnection, source: str, schemas: Sequence[str], name: str = ""
) -> tuple[TableShape, ...]:
    """Every table and view of the schemas that this user has a privilege on, or only those of one name."""
    if not schemas:
        return ()
    wanted = {"schemas": texts(schemas), "name": text(name)}
    columns = by_table(connection.rows(_COLUMNS.format(**wanted)))
    keys = by_table(connection.rows(_KEYS.format(**wanted)))
    hiding = hiding_tables(connection)
    return tuple(
        replace(
            _shape(TableId(source, str(schema), str(table)), tuple(rest), columns[schema, table], keys[schema, table]),
            filtered=(schema, table) in hiding,
        )
        for schema, table, *rest in list(connection.rows(_TABLES.format(**wanted)))
    )


def missing_schemas(connection: RowConnection, schemas: Sequence[str]) -> tuple[str, ...]:
    """Those that the database does not have, or does not show."""
    there = {name for (name,) in connection.rows(_SCHEMAS.format(schemas=texts(schemas)))}
    return tuple(schema for schema in schemas if schema not in there)


def hiding_tables(connection: RowConnection) -> set[Place]:
    """Tables with a policy that filters, unless this user is exempt."""
    return {(str(schema), str(table)) for schema, table in connection.rows(_HIDING)}


def _shape(table: TableId, rest: Row, declared_columns: Sequence[Row], key_columns: Sequence[Row]) -> TableShape:
    kind, rows, size, materialized, external, comment, dependencies = rest
    columns = tuple(_column(each) for each in declared_columns)
    filled = {column.name for column in columns if not column.nullable}
    primary, unique = keys_of(key_columns)
    return TableShape(
        id=table,
        columns=columns,
        primary_key=primary,
        # Rows with a NULL in such a key may repeat.
        unique_keys=tuple(key for key in unique if filled.issuperset(key)),
        comment=comment or "",
        rows=int(rows or 0),
        bytes=int(size or 0),
        arrivals=_arrivals(str(kind), materialized=bool(materialized), external=bool(external)),
        numbering=None if dependencies is None or external else _numbering(columns, str(dependencies).strip()),
    )


def _numbering(columns: Sequence[Column], dependencies: str) -> Column | None:
    """No quotes tell it from a column of this name, which a table may have."""
    if any(column.name == ROW_CHANGE for column in columns):
        return None
    what = "the row" if dependencies == "ENABLED" else "the block in which the row lies"
    comment = f"The change number of the transaction that wrote {what} last, as the source numbers it"
    return Column(ROW_CHANGE, "NUMBER(18)", "bigint", Fidelity.EXACT, nullable=False, comment=comment)


def _column(row: Row) -> Column:
    name, owner, kind, length, unit, precision, scale, nullable, sequence, generated, step, cycles, comment = row
    whole = str(kind) if owner is None or kind == "XMLTYPE" else f"{owner}.{kind}"
    digits, right = (None if each is None else int(each) for each in (precision, scale))
    source_type = declared(whole, int(length or 0), str(unit or ""), digits, right)
    # What a session caches comes from the numbers of its instance, in the order in which they are asked for.
    drawn = Numbers(str(sequence), int(step or 1), cycles=cycles == "Y", always=generated == "ALWAYS")
    return Column(
        str(name),
        source_type,
        *spark_type(source_type),
        nullable=nullable != "N",
        comment=comment or "",
        sequence=drawn if sequence is not None else None,
    )


def _arrivals(kind: str, *, materialized: bool, external: bool) -> tuple[Arrival, ...]:
    if kind == "VIEW":
        return (Arrival.VIEW,)
    if external:
        return (Arrival.FOREIGN,)
    return (Arrival.MATERIALIZED,) if materialized else ()
