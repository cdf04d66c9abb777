"""Tables without a grant and missing schemas: what exists in PostgreSQL, or is configured, and cannot be read by this user."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import is_legible
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape

# Every user may read the names in pg_class, whatever is granted on the tables.
_UNREADABLE = f"""
SELECT n.nspname, c.relname
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND NOT (has_schema_privilege(n.oid, 'USAGE') AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')))
  AND {is_legible("c.relname")}
ORDER BY n.nspname, c.relname
"""
_SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname = ANY($1)"


def read_unreadable(asked: Asked, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
    """Every table of the schemas that this user may not read, by name: without columns, which are not to be read either."""
    found = asked.execute(_UNREADABLE, (list(schemas),)).fetchall()
    return tuple(TableShape(TableId(source, schema, name), (), readable=False) for schema, name in found)


def missing_schemas(asked: Asked, schemas: Sequence[str]) -> tuple[str, ...]:
    """Those of the schemas that the database does not have."""
    there = {name for (name,) in asked.execute(_SCHEMAS, (list(schemas),)).fetchall()}
    return tuple(schema for schema in schemas if schema not in there)
