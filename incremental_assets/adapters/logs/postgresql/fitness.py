"""Whether a log may be read, and a table's changes by it: each reason why not is named with its cure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.postgresql.sql import identifier, literal
from incremental_assets.adapters.logs.changes import CODES, Change, change_codes
from incremental_assets.adapters.logs.postgresql.look import Look, Member, Publication, SlotState
from incremental_assets.adapters.logs.postgresql.relation import Identity, Layout
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.segments.manifest import Server, Standing
from incremental_assets.adapters.spark.own_names import REJECT_COLUMN
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.errors import SourceExchanged, SourceRefused, SourceUnreachable
from incremental_assets.core.model.cures import LOAD_AGAIN

PLUGIN = "pgoutput"
_LOAD_AGAIN = f"and load the tables again with {LOAD_AGAIN}, as what changed in between is in no log"


def check_log(found: Look, slot: Slot, position: int | None, server: Server | None) -> None:
    """Whether the slot can be read on from a position; None: from where it is. Raises SourceRefused, SourceExchanged, SourceUnreachable."""
    if found.flushed is None:
        raise SourceRefused("a standby answers, whose slots are its own; name the primary as `host`")
    if found.wal_level != "logical":
        raise SourceRefused(
            f"the server writes its log for `wal_level = {found.wal_level}`, from which no rows can be read; as a superuser run "
            "ALTER SYSTEM SET wal_level = logical, and restart the server"
        )
    if server is not None and server.system != found.server.system:
        raise SourceExchanged(
            f"another database cluster answers (system {found.server.system}, before {server.system}), whose log is another one; name the server of before, "
            f"or make a slot there {_LOAD_AGAIN}"
        )
    if server is not None and server.timeline != found.server.timeline:
        raise SourceExchanged(
            f"the server is on timeline {found.server.timeline} of its log, and was read on {server.timeline}: a standby has taken over, or a backup was restored, and "
            f"changes that have landed may be missing there; make a slot there {_LOAD_AGAIN}"
        )
    _check_publication(found, slot)
    _check_slot(found, slot, position)


def check_left(found: Look, slot: Slot, standing: Standing | None) -> None:
    """Whether the log can be gone on with from where it was left. Whoever reads it at this moment ends by himself. Raises SourceRefused, SourceExchanged."""
    unread = replace(found, slot=found.slot and replace(found.slot, reader=None))
    if standing is None:
        check_log(unread, slot, None, None)
    else:
        check_standing(unread, slot, standing)


def check_standing(found: Look, slot: Slot, standing: Standing) -> None:
    """Whether the slot can be read on from where the log was left, and the source is the one that had come so far: after a backup was put back its places grow beyond again, and its numbers are those of before. Raises as `check_log` does."""
    check_log(found, slot, standing.position, standing.server)
    # Where it still runs, one that was read may wait for a standby, which no snapshot shows yet.
    if standing.started not in ("", found.started) and found.next_xid <= standing.last_xid:
        raise SourceExchanged(
            f"the source gives transactions numbers that were read already (the next is {found.next_xid}, and {standing.last_xid} has landed), as after a restored backup: "
            f"what landed last may be missing there; load the tables again with {LOAD_AGAIN}, as what changed in between is in no log"
        )


def check_partitioned(publication: Publication, table: str, slot: Slot) -> str:
    """Why the changes of a table that is partitioned cannot be read, with the cure; empty where they can."""
    if publication.via_root:
        return ""
    return (
        f"the publication {slot.publication} has the changes of {table} as those of its partitions; run {via_root(slot)}, "
        f"and load the tables that were read from it again with {LOAD_AGAIN}"
    )


def via_root(slot: Slot) -> str:
    """The statement after which changes of partitions are those of the table that is partitioned."""
    return f"ALTER PUBLICATION {identifier(slot.publication)} SET (publish_via_partition_root = true)"


def check_table(member: Member | None, table: str, slot: Slot, key: Sequence[str], columns: Collection[str]) -> str:
    """Why a table's changes cannot be read, with the cure; empty where they can. `columns`: those that its copy has."""
    publication = identifier(slot.publication)
    if member is None:
        return f"{table} is not in the publication {slot.publication}; as its owner run ALTER PUBLICATION {publication} ADD TABLE {table}"
    if member.is_inherited:
        return f"other tables inherit from {table}, whose rows it shows too, and the log has their changes as those of other tables; read it by a cursor or by `compare`"
    if member.filtered:
        return f"the publication {slot.publication} filters the rows of {table}, so that the copy would lack some; publish it without WHERE"
    if member.narrowed:
        return (
            f"the publication {slot.publication} names columns of {table}, and does not follow the table when it gets another one; publish it without a list "
            "of columns, and leave out columns of the copy with `columns: {exclude: …}`"
        )
    computed = [name for name in member.computed if name in columns]
    if computed:
        return (
            f"the log does not have {', '.join(computed)} of {table}, which the source generates; leave out of the copy what it generates with `columns: {{exclude: …}}`, or "
            f"from PostgreSQL 18 on run ALTER PUBLICATION {publication} SET (publish_generated_columns = 'stored') where it is stored"
        )
    if key and set(member.deferrable) == set(key):
        return (
            f"the primary key of {table} is DEFERRABLE, so that two of its rows may have one key within a transaction, and the log does not say which of them a change is of; as its "
            f"owner make the key anew without DEFERRABLE, or read the table by a cursor or by `compare`"
        )
    if member.identity is Identity.NOTHING or (member.identity is not Identity.FULL and not member.identifying):
        return (
            f"{table} has no REPLICA IDENTITY, so that the log does not say which row was changed, and the source itself refuses to update it while it is published; "
            f"give it a primary key, or as its owner run ALTER TABLE {table} REPLICA IDENTITY FULL"
        )
    missing = [name for name in key if name not in member.identifying]
    if missing and member.identity is not Identity.FULL:
        return (
            f"the log names rows of {table} by {', '.join(member.identifying)}, and its copy by {', '.join(key)}; choose the same key, or as its owner run "
            f"ALTER TABLE {table} REPLICA IDENTITY FULL"
        )
    return ""


def hidden(member: Member, key: Sequence[str]) -> str:
    """Why the log does not show that a row of a partition has got another key, with the cure; empty where it does. The log says the same of a row that keeps its key."""
    for part, shown in sorted(member.shown_by_parts.items()):
        missing = [name for name in key if name not in shown]
        if missing:
            return _of_part(str(member), f"its partition {part} has a REPLICA IDENTITY", missing, "is another one")
    return ""


def _of_part(table: str, whose: str, missing: Sequence[str], what: str) -> str:
    return (
        f"{table}: {whose} that does not show {', '.join(missing)}, by which its copy identifies rows, so that the log does not say which row {what}; as its "
        f"owner run ALTER TABLE … REPLICA IDENTITY DEFAULT for that partition, then load the table again with {LOAD_AGAIN}"
    )


def unfit(layout: Layout, key: Sequence[str]) -> str:
    """Why changes that were written under a layout cannot be read, with the cure; empty where they can."""
    relation = layout.relation
    table = f"{relation.schema}.{relation.name}"
    for name, kind in zip(layout.names, layout.kinds, strict=True):
        if kind.refused:
            return f"{table}: of the column {name!r} {kind.refused}"
    shown = {each.name for each in relation.attributes if each.identifies or relation.identity is Identity.FULL}
    missing = [name for name in key if name not in shown]
    if missing:
        return (
            f"{table}: its REPLICA IDENTITY did not show {', '.join(missing)}, by which its copy identifies rows, so that the log does not say which row is gone; as its "
            f"owner run ALTER TABLE {table} REPLICA IDENTITY FULL, or DEFAULT where that is the primary key, then load the table again with {LOAD_AGAIN}"
        )
    return ""


def keyless(layout: Layout, rows: pa.Table, key: Sequence[str]) -> str:
    """Why it is not known which row is gone, with the cure; empty where it is. A partition may have another identity than the table, and it counts."""
    open_ones = [name for name in key if rows.column(name).null_count]
    if not open_ones:
        return ""
    gone = pc.and_(pc.equal(change_codes(rows), CODES[Change.DELETE]), pc.is_null(rows.column(REJECT_COLUMN)))
    missing = [name for name in open_ones if rows.column(name).filter(gone).null_count]
    if not missing:
        return ""
    table = f"{layout.relation.schema}.{layout.relation.name}"
    return _of_part(table, "a partition of it has a REPLICA IDENTITY", missing, "is gone")


def _check_publication(found: Look, slot: Slot) -> None:
    publication = identifier(slot.publication)
    if found.publication is None:
        raise SourceRefused(
            f"there is no publication {slot.publication}, without which the server sends no row and names no error; run CREATE PUBLICATION {publication} FOR TABLE …, "
            f"then make a new slot {_LOAD_AGAIN}"
        )
    if found.publication.unpublished:
        left_out = ", ".join(found.publication.unpublished)
        raise SourceRefused(
            f"the publication {slot.publication} leaves out {left_out}, so that the copies would differ; run ALTER PUBLICATION {publication} "
            "SET (publish = 'insert, update, delete, truncate')"
        )


def _check_slot(found: Look, slot: Slot, position: int | None) -> None:
    make = f"SELECT pg_create_logical_replication_slot({literal(slot.name)}, '{PLUGIN}')"
    state = found.slot
    if state is None:
        raise SourceRefused(f"there is no replication slot {slot.name}; run {make} {_LOAD_AGAIN}")
    if state.plugin != PLUGIN or state.temporary or state.database != found.database:
        raise SourceRefused(
            f"the replication slot {slot.name} is none of {PLUGIN} that belongs to the database {found.database} and outlives its session; choose another name, and run {make}"
        )
    if state.two_phase:
        raise SourceRefused(
            f"the replication slot {slot.name} was made with two_phase, and sends transactions that are prepared and may be rolled back; run "
            f"SELECT pg_drop_replication_slot({literal(slot.name)}), then {make} {_LOAD_AGAIN}"
        )
    lost = state.invalidated or ("rows_removed" if state.wal_status == "lost" else "")
    if lost:
        raise SourceRefused(
            f"the server has given up the replication slot {slot.name} ({lost}), and log that was not read is gone; run "
            f"SELECT pg_drop_replication_slot({literal(slot.name)}), then {make} {_LOAD_AGAIN}{_limit(lost)}"
        )
    if position is not None and state.confirmed > position:
        raise SourceRefused(
            f"the replication slot {slot.name} stands at {lsn_text(state.confirmed)}, ahead of {lsn_text(position)}, up to which it was read here: another program "
            f"reads it and has taken changes from us, or it was made anew; give each program its own slot: run {make.replace(literal(slot.name), '…')} {_LOAD_AGAIN}"
        )
    check_unread(state, slot)


def check_unread(state: SlotState, slot: Slot) -> None:
    """Whether nobody else reads the slot at this moment. Raises SourceUnreachable."""
    if state.reader is not None:
        raise SourceUnreachable(
            f"the replication slot {slot.name} is being read by the session {state.reader} of the source; it is read here when that has ended, "
            "and if it is another program's, give each its own slot"
        )


def _limit(lost: str) -> str:
    if lost in ("rows_removed", "wal_removed"):
        return "; raise `max_slot_wal_keep_size` if that is to be survived for longer"
    if lost == "idle_timeout":
        return "; raise `idle_replication_slot_timeout` above the longest time without a sync"
    return ""
