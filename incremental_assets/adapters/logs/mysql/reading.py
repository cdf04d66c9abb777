"""One range of a binlog, from where it was left to a durable segment: looked at, streamed, decoded and written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.logs.following import Followed
from incremental_assets.adapters.logs.mysql.decode import Decoder
from incremental_assets.adapters.logs.mysql.events import Events, made_of
from incremental_assets.adapters.logs.mysql.fitness import check_settings, check_standing, gtids, has_taken_over
from incremental_assets.adapters.logs.mysql.gtids import Domains
from incremental_assets.adapters.logs.mysql.layout import Shape
from incremental_assets.adapters.logs.mysql.look import Look, collations, described, look
from incremental_assets.adapters.logs.mysql.place import Place, file_name
from incremental_assets.adapters.logs.mysql.statements import Name
from incremental_assets.adapters.logs.mysql.stream import packets
from incremental_assets.adapters.logs.mysql.taking_over import taken_over
from incremental_assets.adapters.logs.segments.manifest import Manifest, Membership, Server, Standing
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.errors import SourceExchanged
from incremental_assets.core.model.cures import LOAD_AGAIN

Moment = Callable[[str], None]
"""Called before each step with its name: a test ends the process there."""
_UNKNOWN = Shape({}, {}, ())


@dataclass(frozen=True, slots=True)
class Tables:
    """Those whose changes are wanted, by their numbers, and by their schemas and names."""

    followed: Mapping[int, Followed]
    names: Mapping[Name, int]


def standing_at(connection: Connection, found: Look, number: int, turn: int) -> Standing:
    """The place up to which all is visible now, as one from which the log is read; the connection is used up. Raises SourceRefused."""
    file, offset = found.visible
    place = Place(turn, file, offset)
    numbers = _numbers_at(connection, found, place) if found.is_mariadb else found.executed
    return Standing(
        number,
        place.position,
        Server(found.server, "binlog"),
        Membership("", {}),
        gtids=str(gtids(found, numbers)),
        made=made_of(packets(connection, file_name(found.file, place.file), place.offset)),
    )


def read_on(
    connection: Connection, shelf: Shelf, tables: Tables, *, moves: bool = False, moment: Moment = lambda _: None
) -> Standing:
    """Read up to where all is visible now; the connection is used up. `moves`: also on a server that has taken over. Raises SourceRefused, SourceExchanged, LakeRefused, StageBroken."""
    found = look(connection)
    check_settings(found)
    before = shelf.standing()
    if before is None:
        shelf.stand(fresh := standing_at(connection, found, 1, 0))
        return fresh
    left = before.position
    if moves and has_taken_over(found, before):
        before = taken_over(connection, found, before)
    elif found.is_mariadb:
        check_standing(found, before)
        _check_numbers(before, _numbers_at(connection, found, Place.of(left)))
    else:
        check_standing(found, before)
    begin = Place.of(before.position)
    until = Place(begin.turn, *found.visible)
    if until.position <= begin.position:
        return before
    decoder = Decoder(
        tables.followed,
        tables.names,
        collations(connection),
        _shapes(connection, tables),
        found.is_mariadb,
        gtids(found, before.gtids),
        begin,
        until,
        None if found.is_mariadb else gtids(found, found.executed),
        passed=gtids(found, before.passes) if before.passes else None,
        is_moved=left != before.position,
    )
    return _range(connection, shelf, decoder, _Ahead(left, before, found, until), moment)


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What is to be read. `left`: where the segments end."""

    left: int
    before: Standing
    look: Look
    until: Place


def _range(connection: Connection, shelf: Shelf, decoder: Decoder, ahead: _Ahead, moment: Moment) -> Standing:
    """Up to a durable segment, or a durable position where there is nothing for one."""
    before, begin = ahead.before, Place.of(ahead.before.position)
    checked = ahead.look.settings.get("binlog_checksum", "").upper() == "CRC32"
    events = Events(begin, checked=checked, made=before.made)
    moment("read")
    with shelf.segment() as segment:
        name = file_name(ahead.look.file, begin.file)
        for changes, committed in decoder.decode(events.read(packets(connection, name, begin.offset))):
            moment("decode")
            segment.add(changes, committed)
        moment("write")
        transactions, pieces = segment.files()
        # Whatever is read next goes on from there: of what else lies before it nothing is wanted.
        end = ahead.until if events.at.position >= ahead.until.position and decoder.is_whole else decoder.end
        after = Standing(
            before.number + 1,
            end.position,
            before.server,
            before.membership,
            gtids=str(decoder.gtids),
            made=events.made.get(end.file, 0),
            passes=before.passes,
        )
        if not pieces and not decoder.failed and not transactions.rows:
            moment("stand")
            shelf.stand(after)
            return after
        names = shelf.names()
        last = decoder.last_second
        manifest = Manifest(
            ahead.left,
            names[-1] if names else "",
            after,
            datetime.now(UTC),
            None if last is None else datetime.fromtimestamp(last, UTC),
            transactions,
            pieces,
            dict(decoder.failed),
        )
        moment("finish")
        segment.finish(manifest)
    moment("end")
    return after


def _shapes(connection: Connection, tables: Tables) -> dict[int, Shape]:
    known = described(connection, tables.names)
    return {number: known[name].shape if name in known else _UNKNOWN for name, number in tables.names.items()}


def _numbers_at(connection: Connection, found: Look, place: Place) -> str:
    (numbers,) = connection.row(
        "SELECT COALESCE(BINLOG_GTID_POS(%s, %s), '')", (file_name(found.file, place.file), place.offset)
    )
    return str(numbers)


def _check_numbers(before: Standing, numbers: str) -> None:
    """MariaDB tells which transactions come before a place: another log has others there. Raises SourceExchanged."""
    had, has = Domains.parse(before.gtids).of, Domains.parse(numbers).of
    if has.items() <= had.items() and bool(has) == bool(had):
        return
    raise SourceExchanged(
        f"the binlog has other transactions before the place up to which it was read ({numbers or 'none'}, before {before.gtids or 'none'}), as after RESET MASTER or a restored "
        f"backup; load the tables again with {LOAD_AGAIN}, as what changed in between is in no log"
    )
