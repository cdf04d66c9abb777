"""Where a source's log stands, as `capture status` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.logs.following import Record, record_in
from incremental_assets.adapters.logs.postgresql.fitness import check_log
from incremental_assets.adapters.logs.postgresql.look import Look, holders, look
from incremental_assets.adapters.logs.postgresql.session import opened
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.standing import LogStanding, Reader
from incremental_assets.core.config.database_settings import LogTerms
from incremental_assets.core.errors import LakeRefused, SourceExchanged, SourceRefused

_NAMES = """
SELECT c.oid::bigint, n.nspname, c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid::bigint = ANY ($1::bigint[])
"""


def standing_of(address: Address, terms: LogTerms, folder: Path) -> LogStanding:
    """Four light statements, and the files here. Raises SourceUnreachable, SourceRefused; what is wrong with the files is why nothing can be read on."""
    known, unreadable = _recorded(folder)
    slot, shelf = Slot(terms.slot, terms.publication), Shelf(folder)
    with address.budget.look(), opened(address) as asked:
        found, held = look(asked, slot), holders(asked)
        names = _names(asked, list(known.tables))
    standing, refused = _standing(shelf, slot, found)
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
        last_commit_at=_last_commit(shelf),
        files=len(segments),
        file_bytes=shelf.bytes(),
        readers=tuple(Reader(oid, names.get(oid), each.landed, oid in members) for oid, each in known.tables.items()),
        refused=unreadable or refused,
    )


def _recorded(folder: Path) -> tuple[Record, str]:
    try:
        return record_in(folder), ""
    except LakeRefused as error:
        return Record(), str(error)


def _standing(shelf: Shelf, slot: Slot, found: Look) -> tuple[Standing | None, str]:
    try:
        standing = shelf.standing()
        unread = replace(found, slot=found.slot and replace(found.slot, reader=None))
        check_log(unread, slot, standing.position if standing else None, standing.server if standing else None)
    except LakeRefused as error:
        return None, str(error)
    except (SourceRefused, SourceExchanged) as error:
        return standing, str(error)
    return standing, ""


def _last_commit(shelf: Shelf) -> datetime | None:
    # Whether they can be read is said beside it.
    with suppress(LakeRefused):
        for name in reversed(shelf.names()):
            at = shelf.manifest(name).last_commit_at
            if at is not None:
                return at
    return None


def _names(asked: Asked, numbers: list[int]) -> Mapping[int, tuple[str, str]]:
    listed = "{" + ",".join(map(str, numbers)) + "}"
    return {number: (schema, name) for number, schema, name in asked.execute(_NAMES, (listed,)).fetchall()}
