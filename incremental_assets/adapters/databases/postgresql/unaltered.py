"""Is the table in the snapshot still the planned one? Checked while the snapshot's own lock prevents changes.

PostgreSQL uses the current definition of a table, whatever the snapshot: columns that were retyped since are cast silently, a dropped key
enforces nothing, and a table that was rewritten or recreated since shows no rows to an older snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.catalogue import read_catalogue
from incremental_assets.adapters.databases.postgresql.sql import identifier
from incremental_assets.adapters.databases.sentences import ALTERED
from incremental_assets.core.captures.database.observation import numbers
from incremental_assets.core.captures.database.reading import of_database
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.collation_key import as_planned
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.stamping import Stamping
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.planning.plan import SyncPlan

# pg_class tells the files as the snapshot shows them, the function tells them as they are; whatever the first question read is locked.
_REWRITTEN = """
SELECT EXISTS (
    SELECT FROM pg_locks AS l LEFT JOIN pg_class AS c ON c.oid = l.relation
    WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation'
      AND (c.oid IS NULL OR c.relkind IN ('r', 'm') AND c.relfilenode <> 0 AND c.relfilenode IS DISTINCT FROM pg_relation_filenode(c.oid)))
"""

# The function tells the partitions as they are, where a query would tell those of the snapshot. What was read is locked, and stays.
_GONE = """
SELECT count(*) FROM unnest($2::oid[]) AS o
WHERE o NOT IN (SELECT p.relid FROM pg_partition_tree($1::regclass) AS p)
  AND o NOT IN (SELECT l.relation FROM pg_locks AS l WHERE l.pid = pg_backend_pid() AND l.locktype = 'relation')
"""


def check_unaltered(asked: Asked, specs: Sequence[TableSpec]) -> None:
    """Check in the transaction of the snapshot, after its first question about each of the tables, which are of one source. Raises SourceRefused.

    All are looked up at once, as one question of the catalogue costs many times what counting the rows of a small delta does.
    """
    (rewritten,) = one_row(asked, _REWRITTEN)
    if rewritten:
        # Of several nobody knows which, as a view has locked the tables that it reads: who asked for several then asks about each alone.
        raise _altered(specs[0], "it was rewritten or recreated")
    tables = [spec.id for spec in specs]
    schemas, names = {table.schema for table in tables}, {table.name for table in tables}
    found = {shape.id: shape for shape in read_catalogue(asked, tables[0].source, sorted(schemas), sorted(names))}
    for spec in specs:
        shape = found.get(spec.id)
        differences = _difference(spec, shape) if shape else "it is gone"
        if differences:
            raise _altered(spec, differences)


def check_members(asked: Asked, plan: SyncPlan) -> None:
    """Check in the same transaction that every partition and child that the plan counts on is in the table. Raises SourceRefused."""
    members = of_database(plan).members
    if not members:
        return
    table = f"{identifier(plan.spec.id.schema)}.{identifier(plan.spec.id.name)}"
    (gone,) = one_row(asked, _GONE, (table, numbers(members)))
    if gone:
        raise _altered(plan.spec, "a partition or child left it")


def _difference(spec: TableSpec, found: TableShape) -> str:
    planned, found = spec.shape, as_planned(spec, found)
    found = found.without(spec.shape.left_out)
    if spec.cursor is not None and spec.cursor.by_transaction:
        found = found.numbered()
    was, now = (
        {
            column.name: (
                column.source_type,
                column.nullable,
                column.identity,
                column.sequence,
                column.collation,
                *_stamps(spec, column),
            )
            for column in shape.columns
        }
        for shape in (planned, found)
    )
    columns = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    differences = [f"columns {', '.join(columns)}"] if columns else []
    if _keys(planned) != _keys(found):
        differences.append("its keys")
    if planned.arrivals != found.arrivals:
        differences.append("how its rows come into it")
    if planned.filtered != found.filtered:
        differences.append("its row-level security, for which the reading user needs BYPASSRLS")
    return ", ".join(differences)


def _stamps(spec: TableSpec, column: Column) -> tuple[Stamping | None, ...]:
    """Of a column that a cursor is taken from: what stamps it decides how far the watermark may go."""
    return (column.stamps,) if column.name in spec.cursor_columns else ()


def _keys(shape: TableShape) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]]]:
    return shape.primary_key, sorted(shape.unique_keys)


def _altered(spec: TableSpec, what: str) -> SourceRefused:
    return SourceRefused(f"{spec.id}: {ALTERED.format(what)}")
