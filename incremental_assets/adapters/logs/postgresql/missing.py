"""What an administrator runs so that tables can be read from a source's log."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import shown
from incremental_assets.adapters.databases.postgresql.sql import identifier, literal
from incremental_assets.adapters.logs.postgresql.fitness import PLUGIN, via_root
from incremental_assets.adapters.logs.postgresql.look import Look
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.core.model.table import TableSpec

# The view shows partitions where their changes are their own, and not the table that was named.
_NAMED = f"""
SELECT {shown("t.schemaname")}::text, {shown("t.tablename")}::text FROM pg_publication_tables AS t WHERE t.pubname = $1
UNION SELECT {shown("n.nspname")}::text, {shown("c.relname")}::text
FROM pg_publication AS p JOIN pg_publication_rel AS r ON r.prpubid = p.oid JOIN pg_class AS c ON c.oid = r.prrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE p.pubname = $1
"""
_MAY = "SELECT rolname::text, rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user"


def missing_sql(asked: Asked, found: Look, slot: Slot, specs: Sequence[TableSpec]) -> str:
    """In the order in which they are to be run: a publication comes before its slot, else that never finds it."""
    if not specs:
        return ""
    lines = []
    ((user, may),) = asked.execute(_MAY)
    if found.wal_level != "logical":
        lines.append("ALTER SYSTEM SET wal_level = logical; -- then restart the server")
    if not may:
        lines.append(f"ALTER ROLE {identifier(user)} REPLICATION;")
    is_partitioned = any(spec.shape.is_partitioned for spec in specs)
    there = set(asked.execute(_NAMED, (slot.publication,)).fetchall()) if found.publication else set()
    lacking = [spec.id for spec in specs if (spec.id.schema, spec.id.name) not in there]
    tables = ", ".join(f"{identifier(each.schema)}.{identifier(each.name)}" for each in lacking)
    publication = identifier(slot.publication)
    if found.publication is None:
        with_root = " WITH (publish_via_partition_root = true)" if is_partitioned else ""
        lines.append(f"CREATE PUBLICATION {publication} FOR TABLE {tables}{with_root};")
    elif lacking:
        lines.append(f"ALTER PUBLICATION {publication} ADD TABLE {tables};")
    if found.publication and is_partitioned and not found.publication.via_root:
        lines.append(f"{via_root(slot)};")
    if found.slot is None:
        lines.append(f"SELECT pg_create_logical_replication_slot({literal(slot.name)}, '{PLUGIN}');")
    return "\n".join(lines)
