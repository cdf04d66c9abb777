"""The catalogue of tables that others may be altering: PostgreSQL tells no size and no default of a table while another session has it locked against readers."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from psycopg import errors

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.catalogue import read_catalogue
from incremental_assets.adapters.databases.postgresql.encodings import ANY_BYTES, is_legible, shown
from incremental_assets.adapters.databases.sentences import COLUMN_NOT_UTF8, LOCKED, NAME_NOT_UTF8, UNDESCRIBED
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape

_MOMENT = "1s"
"""How long a lock is waited for; most changes of a table are over by then."""

# A lock that is waited for lets nobody pass either.
_LOCKED = f"""
WITH RECURSIVE branches (root, relid) AS (
    SELECT c.oid, c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = ANY($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    UNION SELECT b.root, h.inhrelid FROM branches AS b JOIN pg_inherits AS h ON h.inhparent = b.relid
)
SELECT DISTINCT c.oid, n.nspname, {shown("c.relname")}
FROM branches AS b JOIN pg_locks AS l ON l.relation = b.relid JOIN pg_class AS c ON c.oid = b.root JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_backend_pid() AND has_schema_privilege(n.oid, 'USAGE')
  AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
  AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
"""


_ILLEGIBLE = f"""
SELECT c.oid, n.nspname, {shown("c.relname")}, NOT {is_legible("c.relname")}
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = ANY($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND (NOT {is_legible("c.relname")} OR EXISTS (
      SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT {is_legible("a.attname")}))
"""


def described(asked: Asked, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
    """Every table that this user may read, at one moment; those that are locked by name alone, after the others."""
    illegible = _illegible(asked, source, schemas)
    locked: dict[int, TableId] = {}
    for last in (False, False, True):
        try:
            shapes = _read(asked, source, schemas, {*locked, *illegible})
        except errors.LockNotAvailable:
            if last:
                raise
            found = asked.execute(_LOCKED, (list(schemas),)).fetchall()
            locked |= {oid: TableId(source, schema, name) for oid, schema, name in found}
        else:
            break
    held = [TableShape(table, (), undescribed=LOCKED) for oid, table in locked.items() if oid not in illegible]
    return (*shapes, *sorted([*held, *illegible.values()], key=lambda shape: shape.id))


def _illegible(asked: Asked, source: str, schemas: Sequence[str]) -> dict[int, TableShape]:
    """Tables whose names nobody could say to the server in UTF-8; where names may be any bytes."""
    if asked.encoding != ANY_BYTES:
        return {}
    found = asked.execute(_ILLEGIBLE, (list(schemas),)).fetchall()
    why = {True: NAME_NOT_UTF8, False: COLUMN_NOT_UTF8}
    return {
        oid: TableShape(TableId(source, schema, name), (), undescribed=UNDESCRIBED.format(why[is_own]))
        for oid, schema, name, is_own in found
    }


def _read(asked: Asked, source: str, schemas: Sequence[str], without: Collection[int]) -> tuple[TableShape, ...]:
    # Whatever is dropped between two questions is there for both.
    with asked.beside(lock_timeout=_MOMENT), asked.held():
        return read_catalogue(asked, source, schemas, without=without)
