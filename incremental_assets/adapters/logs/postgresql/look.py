"""A light look at a source's log: has anything moved, which slot and publication are there, and what keeps the server from removing old log.

Three statements at the most, for any number of tables, and no slot is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import legible, shown
from incremental_assets.adapters.logs.postgresql.relation import Identity
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.segments.manifest import Server
from incremental_assets.core.captures.log.lsn import lsn_of
from incremental_assets.core.model.table_id import TableId

_WITH_SCHEMAS = 150_000
"""Since this version a publication may name schemas."""

# Slots and publications as JSON, as later servers say more of them.
_SOURCE = """
SELECT pg_is_in_recovery(), current_setting('wal_level'), clock_timestamp(),
       CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_flush_lsn()::text END,
       CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) END,
       (SELECT system_identifier::text FROM pg_control_system()),
       (SELECT to_jsonb(s)::text FROM pg_replication_slots AS s WHERE s.slot_name = $1), current_database()::text,
       (SELECT to_jsonb(p)::text FROM pg_publication AS p WHERE p.pubname = $2),
       (SELECT p.oid::text || ' ' || p.xmin::text FROM pg_publication AS p WHERE p.pubname = $2),
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
       extract(epoch FROM pg_postmaster_start_time())::text
"""
# Moved to another schema and back, a table leaves a publication of schemas for a while: the row that says on which schema it depends is another one then.
_OF_SCHEMA = """
CASE WHEN s.oid IS NOT NULL THEN (
    SELECT d.xmin FROM pg_depend AS d
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0 AND d.refclassid = 'pg_namespace'::regclass
) END"""
# Which transactions have written what the catalogue says of the columns: ALTER COLUMN writes it anew, also where it looks as before.
_COLUMNS = "(SELECT md5(string_agg(a.xmin::text, ' ' ORDER BY a.attnum)) FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attnum > 0)"
# As a partition, a table is published by its root, if the publication says so: what it counts as inherited is written to its columns and taken back.
_BY_ROOT = f"CASE WHEN p.pubviaroot THEN {_COLUMNS} END"
_BY_TABLE = "LEFT JOIN pg_publication_rel AS r ON r.prpubid = p.oid AND r.prrelid = c.oid"
_BY_SCHEMA = f"{_BY_TABLE} LEFT JOIN pg_publication_namespace AS s ON s.pnpubid = p.oid AND s.pnnspid = n.oid"
# By which columns partitions identify their rows in the log, one of them for each such list: an identity of their own counts, and not that of the table.
_OF_PARTS = """
CASE WHEN c.relkind = 'p' THEN (
    WITH RECURSIVE b AS (
        SELECT h.inhrelid FROM pg_inherits AS h WHERE h.inhparent = c.oid
        UNION ALL SELECT h.inhrelid FROM pg_inherits AS h JOIN b ON h.inhparent = b.inhrelid
    ), l AS (
        SELECT k.relname::text AS name, (
            SELECT jsonb_agg(a.attname ORDER BY a.attname) FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = k.oid AND CASE k.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END) AS shown
        FROM b JOIN pg_class AS k ON k.oid = b.inhrelid WHERE k.relkind <> 'p' AND k.relreplident IN ('i', 'd')
    ) SELECT jsonb_object_agg(f.name, f.shown)::text FROM (SELECT min(l.name) AS name, l.shown FROM l WHERE l.shown IS NOT NULL GROUP BY l.shown) AS f
) END"""
_MEMBERS = """
SELECT c.oid::bigint, {namespace}::text, {relation}::text, c.relreplident::text, concat_ws(' ', r.oid, r.xmin, {schema}, {root}),
       coalesce(to_jsonb(r) ->> 'prqual' IS NOT NULL, false), coalesce(to_jsonb(r) ->> 'prattrs' IS NOT NULL, false),
       ARRAY(SELECT {attribute}::text FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
             WHERE i.indrelid = c.oid AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary AND c.relreplident = 'd' END
             ORDER BY a.attnum),
       ARRAY(SELECT {attribute}::text FROM pg_attribute AS a
             WHERE a.attrelid = c.oid AND NOT a.attisdropped AND (a.attgenerated = 'v' OR a.attgenerated = 's' AND to_jsonb(p) ->> 'pubgencols' IS DISTINCT FROM 's')
             ORDER BY a.attnum),
       ARRAY(SELECT {attribute}::text FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
             WHERE i.indrelid = c.oid AND i.indisprimary AND NOT i.indimmediate ORDER BY a.attnum),
       r.oid IS NOT NULL, {columns}, c.relkind = 'p', c.relkind <> 'p' AND EXISTS (SELECT FROM pg_inherits AS h WHERE h.inhparent = c.oid), {parts}, pg_snapshot_xmax(pg_current_snapshot())::text::bigint
FROM pg_publication AS p JOIN pg_publication_tables AS t ON t.pubname = p.pubname
JOIN pg_namespace AS n ON n.nspname = t.schemaname JOIN pg_class AS c ON c.relnamespace = n.oid AND c.relname = t.tablename
{joins}
WHERE p.pubname = $1
ORDER BY c.oid
"""
# The oldest of what the server may still have to decode: it cannot remove the log from there on.
_HOLDERS = f"""
SELECT h.kind, h.what, h.since FROM (
    SELECT 'transaction' AS kind, format('session %s of %s', a.pid, {shown("a.usename")}) AS what, a.xact_start AS since, age(a.backend_xid) AS age
    FROM pg_stat_activity AS a WHERE a.backend_xid IS NOT NULL
    UNION ALL SELECT 'prepared transaction', {legible("p.gid")}, p.prepared, age(p.transaction) FROM pg_prepared_xacts AS p
) AS h ORDER BY h.age DESC LIMIT 3
"""


@dataclass(frozen=True, slots=True)
class SlotState:
    """What the server says of the slot."""

    confirmed: int
    restart: int
    plugin: str
    database: str
    wal_status: str
    invalidated: str
    """Why it may not be read any more; empty where it may, or where this version does not say."""
    reader: int | None
    """The process of the session that reads it now."""
    temporary: bool
    safe_bytes: int | None
    """How much more the server may write before it gives the slot up; None where there is no limit."""
    two_phase: bool = False
    """Whether it sends a prepared transaction before that is committed."""


@dataclass(frozen=True, slots=True)
class Member:
    """A table of the publication. `joined` changes when it is removed and added again."""

    oid: int
    schema: str
    name: str
    identity: Identity
    joined: str
    filtered: bool
    narrowed: bool
    """Whether some of its columns are not published."""
    identifying: tuple[str, ...]
    """The columns by which the log names a row, unless it shows the whole of it."""
    computed: tuple[str, ...] = ()
    """Columns that the source generates, and does not write to the log."""
    deferrable: tuple[str, ...] = ()
    """The columns of a primary key that two rows may have at once within a transaction."""
    by_name: bool = True
    """Whether the publication names it, and not its schema or all tables: the server then refuses to make it UNLOGGED."""
    columns_written: str = ""
    """Changes whenever the catalogue's entry of a column is written, whatever it then says."""
    is_inherited: bool = False
    """Whether other tables inherit from it: it shows their rows too, and the log has their changes as those of other tables."""
    is_partitioned: bool = False
    shown_by_parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By which columns its partitions identify their rows in the log: a partition by its name for each such list, but those that show whole rows."""

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Publication:
    """`joined` changes when it is made again or altered."""

    joined: str
    unpublished: tuple[str, ...]
    """Kinds of changes that it leaves out."""
    via_root: bool
    """Whether it has changes of a partition as those of the table that is partitioned."""
    members: tuple[Member, ...]

    @property
    def names_parts(self) -> bool:
        """Whether changes of a partition come as those of its table, and a session says only once that they may."""
        return self.via_root and any(each.is_partitioned for each in self.members)

    def member(self, table: TableId) -> Member | None:
        """The table as it belongs to the publication."""
        return next((each for each in self.members if (each.schema, each.name) == (table.schema, table.name)), None)


@dataclass(frozen=True, slots=True)
class Look:
    """What a source says of its log at one moment; `flushed` is None on a standby."""

    at: datetime
    wal_level: str
    flushed: int | None
    server: Server
    database: str
    slot: SlotState | None
    publication: Publication | None
    next_xid: int
    """The number of the next transaction: what a table lacks that came into the publication since the last look was written by those before it."""
    started: str = ""
    """When the server was started. Whatever was committed before that is visible."""

    @property
    def lag_bytes(self) -> int:
        """How much of the log was written behind what the slot has given up."""
        return 0 if self.slot is None or self.flushed is None else max(0, self.flushed - self.slot.confirmed)

    @property
    def kept_bytes(self) -> int:
        """How much of the log the server keeps for the slot."""
        return 0 if self.slot is None or self.flushed is None else max(0, self.flushed - self.slot.restart)

    def has_moved(self, position: int) -> bool:
        """Whether the log goes on behind a position, with anybody's changes."""
        return self.flushed is not None and self.flushed > position


@dataclass(frozen=True, slots=True)
class Holder:
    """What is open in the source, so that the log is kept from its beginning on."""

    kind: str
    what: str
    since: datetime


def look(asked: Asked, slot: Slot) -> Look:
    """Two statements."""
    row = asked.execute(_SOURCE, (slot.name, slot.publication)).fetchone() or ()
    _, wal_level, at, flushed, timeline, system, slot_facts, database, publication, joined, xmax, started = row
    found, next_xid = (None, 0) if publication is None else _publication(asked, slot, json.loads(publication), joined)
    return Look(
        at=at,
        wal_level=wal_level,
        flushed=None if flushed is None else lsn_of(flushed),
        server=Server(system, timeline or ""),
        database=database,
        slot=None if slot_facts is None else _slot(json.loads(slot_facts)),
        publication=found,
        next_xid=max(xmax, next_xid),
        started=started,
    )


def holders(asked: Asked) -> tuple[Holder, ...]:
    """The oldest of those who keep the server from removing log, one statement."""
    return tuple(Holder(*row) for row in asked.execute(_HOLDERS))


def _slot(facts: Mapping[str, Any]) -> SlotState:
    invalidated = facts.get("invalidation_reason") or ("conflict" if facts.get("conflicting") else "")
    return SlotState(
        confirmed=lsn_of(facts.get("confirmed_flush_lsn") or "0/0"),
        restart=lsn_of(facts.get("restart_lsn") or "0/0"),
        plugin=facts.get("plugin") or "",
        database=facts.get("database") or "",
        wal_status=facts.get("wal_status") or "",
        invalidated=invalidated,
        reader=facts.get("active_pid"),
        temporary=bool(facts.get("temporary")),
        safe_bytes=facts.get("safe_wal_size"),
        two_phase=bool(facts.get("two_phase")),
    )


def _publication(asked: Asked, slot: Slot, facts: Mapping[str, Any], joined: str) -> tuple[Publication, int]:
    """With the number of the next transaction when its members were read: one that had begun before may have written a member that was none yet."""
    by_schema = asked.connection.info.server_version >= _WITH_SCHEMAS
    statement = _MEMBERS.format(
        schema=f"s.oid, {_OF_SCHEMA}" if by_schema else "NULL::oid",
        root=_BY_ROOT,
        columns=_COLUMNS,
        parts=_OF_PARTS,
        joins=_BY_SCHEMA if by_schema else _BY_TABLE,
        namespace=shown("n.nspname"),
        relation=shown("c.relname"),
        attribute=legible("a.attname::text"),
    )
    rows = asked.execute(statement, (slot.publication,)).fetchall()
    members = tuple(
        Member(
            oid,
            schema,
            name,
            Identity(identity),
            joined_by,
            filtered,
            narrowed,
            tuple(identifying),
            tuple(computed),
            tuple(deferrable),
            by_name=by_name,
            columns_written=written,
            is_partitioned=partitioned,
            is_inherited=inherited,
            shown_by_parts={part: tuple(names) for part, names in json.loads(parts or "{}").items()},
        )
        for oid, schema, name, identity, joined_by, filtered, narrowed, identifying, computed, deferrable, by_name, written, partitioned, inherited, parts, _ in rows
    )
    kinds = ("insert", "update", "delete", "truncate")
    unpublished = tuple(kind for kind in kinds if not facts.get(f"pub{kind}"))
    found = Publication(joined, unpublished, bool(facts.get("pubviaroot")), members)
    return found, rows[0][-1] if rows else 0
