"""Where a source's log stands, as `capture status` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import shown
from incremental_assets.adapters.logs.kept import followed, last_commit, standing_and_why_not
from incremental_assets.adapters.logs.postgresql.fitness import check_left
from incremental_assets.adapters.logs.postgresql.look import Look, holders, look
from incremental_assets.adapters.logs.postgresql.resident.record import record_in, why_not
from incremental_assets.adapters.logs.postgresql.session import opened
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.standing import LogStanding, Reader
from incremental_assets.core.config.database_settings import LogTerms

_NAMES = f"""
SELECT c.oid::bigint, {shown("n.nspname")}, {shown("c.relname")} FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid::bigint = ANY ($1::bigint[])
"""


def standing_of(address: Address, terms: LogTerms, folder: Path) -> LogStanding:
    """Four light statements, and the files here. Raises SourceUnreachable, SourceRefused; what is wrong with the files is why nothing can be read on."""
    known, unreadable = followed(folder)
    slot, shelf = Slot(terms.slot, terms.publication), Shelf(folder)
    with address.budget.look(), opened(address) as asked:
        found, held = look(asked, slot), holders(asked)
        names = _names(asked, list(known.tables))
    standing, refused = standing_and_why_not(shelf, lambda left: check_left(found, slot, left))
    segments = shelf.names()
    members = {each.oid for each in found.publication.members} if found.publication else set()
    return LogStanding(
        slot=terms.slot,
        publication=terms.publication,
        at=found.at,
        flushed=found.flushed or 0,
        unread_bytes=found.lag_bytes,
        kept_bytes=found.kept_bytes,
        most_bytes=terms.max_slot_lag,
        left_bytes=found.slot.safe_bytes if found.slot else None,
        holders=tuple(f"{each.kind} of {each.what} since {each.since:%Y-%m-%d %H:%M:%S}Z" for each in held),
        read_to=standing.position if standing else None,
        last_commit_at=last_commit(shelf),
        files=len(segments),
        file_bytes=shelf.bytes(),
        readers=tuple(Reader(oid, names.get(oid), each.landed, oid in members) for oid, each in known.tables.items()),
        refused=unreadable or refused,
        session=_session(found, folder),
        unkept=why_not(folder),
    )


def _session(found: Look, folder: Path) -> int | None:
    """Another program's is none of ours."""
    known, reader = record_in(folder), found.slot and found.slot.reader
    return reader if known and known.pid == reader else None


def _names(asked: Asked, numbers: list[int]) -> Mapping[int, tuple[str, str]]:
    listed = "{" + ",".join(map(str, numbers)) + "}"
    return {number: (schema, name) for number, schema, name in asked.execute(_NAMES, (listed,)).fetchall()}
