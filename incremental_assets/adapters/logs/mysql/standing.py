"""Where a source's binlog stands, as `capture status` shows it."""

from __future__ import annotations

from pathlib import Path

from incremental_assets.adapters.logs.kept import followed, last_commit, standing_and_why_not
from incremental_assets.adapters.logs.mysql.fitness import check_left
from incremental_assets.adapters.logs.mysql.look import Look
from incremental_assets.adapters.logs.mysql.place import Place
from incremental_assets.adapters.logs.segments.manifest import Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.standing import LogStanding, Reader


def left_at(found: Look | None, standing: Standing | None) -> Place:
    """From where the log is unread: all that it has where it was not read before, in the turn that comes where another server answers."""
    if found is None or standing is None:
        return Place(0, *found.visible) if found else Place(0, 0, 0)
    place = Place.of(standing.position)
    return place if standing.server.system == found.server else Place(place.turn + 1, 0, 0)


def standing_of(found: Look, folder: Path) -> LogStanding:
    """From a look, and the files here; what is wrong with these is why nothing can be read on."""
    shelf = Shelf(folder)
    known, unreadable = followed(folder)
    standing, refused = standing_and_why_not(shelf, lambda left: check_left(found, left))
    place = left_at(found, standing)
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
        last_commit_at=last_commit(shelf),
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
