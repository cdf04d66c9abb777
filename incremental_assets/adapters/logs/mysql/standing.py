"""Where a source's binlog stands, as `capture status` shows it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from pathlib import Path

from incremental_assets.adapters.logs.following import Record, record_in
from incremental_assets.adapters.logs.mysql.fitness import check_settings, check_standing
from incremental_assets.adapters.logs.mysql.look import Look
from incremental_assets.adapters.logs.mysql.place import Place
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.standing import LogStanding, Reader
from incremental_assets.core.errors import LakeRefused, SourceExchanged, SourceRefused


def standing_of(found: Look, folder: Path) -> LogStanding:
    """From a look, and the files here; what is wrong with these is why nothing can be read on."""
    shelf = Shelf(folder)
    known, unreadable = _recorded(folder)
    standing, refused = _standing(shelf, found)
    place = Place.of(standing.position) if standing else Place(0, *found.visible)
    return LogStanding(
        slot="",
        publication="",
        at=found.at,
        flushed=Place(place.turn, *found.visible).position,
        unread_bytes=found.bytes_from(place.file, place.offset),
        kept_bytes=sum(found.files.values()),
        most_bytes=0,
        left_bytes=None,
        holders=(),
        read_to=standing.position if standing else None,
        last_commit_at=_last_commit(shelf),
        files=len(shelf.names()),
        file_bytes=shelf.bytes(),
        readers=tuple(
            Reader(number, (schema, name), each.landed, is_published=True)
            for number, each in known.tables.items()
            for schema, _, name in [each.joined.partition("\0")]
        ),
        refused=unreadable or refused,
        sizes=tuple((Place(place.turn, number, 0).position, size) for number, size in found.files.items()),
    )


def _recorded(folder: Path) -> tuple[Record, str]:
    try:
        return record_in(folder), ""
    except LakeRefused as error:
        return Record(), str(error)


def _standing(shelf: Shelf, found: Look) -> tuple[Standing | None, str]:
    try:
        standing = shelf.standing()
    except LakeRefused as error:
        return None, str(error)
    try:
        check_settings(found)
        if standing is not None:
            check_standing(found, standing)
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
