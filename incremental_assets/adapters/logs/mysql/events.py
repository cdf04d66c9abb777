"""Events of a binlog as they come: which kind, where, when, and their bytes. One that is not known stops the read."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum

from incremental_assets.adapters.logs.mysql.place import Place, place_of
from incremental_assets.core.errors import SourceExchanged, SourceRefused, StageBroken
from incremental_assets.core.model.cures import LOAD_AGAIN

_HEADER = 19
_CHECKSUM = 4


class Unreadable(SourceRefused):
    """What the log has at a place: a load of a table may begin behind it."""


class Kind(IntEnum):
    """The kinds of events that are read."""

    QUERY = 2
    ROTATE = 4
    FORMAT = 15
    XID = 16
    TABLE_MAP = 19
    WRITE_1 = 23
    UPDATE_1 = 24
    DELETE_1 = 25
    WRITE = 30
    UPDATE = 31
    DELETE = 32
    GTID = 33
    ANONYMOUS = 34
    XA_PREPARE = 38
    MARIADB_GTID = 162


PASSED = frozenset((3, 5, 13, 14, 27, 29, 35, 36, 37, 41, 160, 161, 163, 164))
"""Kinds that tell nothing of rows: stops, heartbeats, lists of what earlier files have, the text of a statement whose rows follow, and what goes before a statement."""
_KNOWN = frozenset(Kind)
_COMPRESSED = "{} is on, by which the server packs events so that they are not read here; SET GLOBAL {} = OFF, and see that no session sets it"
_REFUSED = {
    39: "binlog_row_value_options = PARTIAL_JSON is set, by which the log has parts of values; SET GLOBAL binlog_row_value_options = '', and see that no session sets it",
    40: _COMPRESSED.format("binlog_transaction_compression", "binlog_transaction_compression"),
    **dict.fromkeys(range(165, 172), _COMPRESSED.format("log_bin_compress", "log_bin_compress")),
    42: "its transactions have numbers with tags, which are not read here; write transactions without tags",
}


@dataclass(frozen=True, slots=True)
class Event:
    """`place`: where it begins; `end`: where the next one does. Both are those of the file, and of one that the server makes up for us they are the place at which it comes."""

    kind: Kind
    place: Place
    end: Place
    second: int
    """When it was written, since 1970."""
    server: int
    """The number of the server on which it was written first."""
    body: bytes


class Events:
    """Follows the files of a log from event to event. `checked`: whether events end with a checksum, until the log says so itself."""

    def __init__(self, begin: Place, *, checked: bool, made: int = 0) -> None:
        """`made`: when the file of `begin` was, as it was read before; 0: not known."""
        self.at = begin
        self.made = {begin.file: made}
        """Of files by their numbers."""
        self._checked = checked

    def read(self, packets: Iterable[bytes]) -> Iterator[Event]:
        """Raises SourceRefused for an event that is not known, StageBroken for one that is damaged, SourceExchanged for another file."""
        for packet in packets:
            event = self._event(packet)
            if event is not None:
                yield event

    def _event(self, packet: bytes) -> Event | None:
        second, number, size, next_at = _header(packet)
        if size != len(packet):
            raise StageBroken(
                f"an event of the binlog at {self._words} has not the length that it says; nothing was written, try again"
            )
        if number in PASSED:
            self._move(next_at, size)
            return None
        if number not in _KNOWN:
            why = _REFUSED.get(
                number,
                f"the binlog has an event of the kind {number}, which is not known here; a newer release of incremental-assets may know it",
            )
            raise Unreadable(
                f"{why}; it is at {self._words}, nothing of this range was written, and after that the tables are to be loaded again with {LOAD_AGAIN}"
            )
        kind = Kind(number)
        body = self._body(kind, packet)
        begin = self._move(next_at, size)
        if kind is Kind.ROTATE:
            # The name of the file that follows, and where in it.
            self.at = place_of(
                self.at.turn, body[8:].decode("utf-8", "backslashreplace"), int.from_bytes(body[:8], "little")
            )
            return None
        if kind is Kind.FORMAT:
            self._is_of(second)
            return None
        return Event(kind, begin, self.at, second, int.from_bytes(packet[5:9], "little"), body)

    def _is_of(self, second: int) -> None:
        """A server that is started or reset begins a file. So one whose data were put back to an earlier day comes to files of before anew, in which numbers and even places may be those of before."""
        before = self.made.get(self.at.file, 0)
        if before and before != second:
            raise SourceExchanged(
                f"file {self.at.file} of the binlog is not the one that was read ({_moment(second)}, before {_moment(before)}), as after a restored backup; "
                f"load the tables again with {LOAD_AGAIN}, as what changed in between is in no log"
            )
        self.made[self.at.file] = second

    def _body(self, kind: Kind, packet: bytes) -> bytes:
        fits = zlib.crc32(packet[:-_CHECKSUM]) == int.from_bytes(packet[-_CHECKSUM:], "little")
        if kind is Kind.FORMAT:
            # It ends with how those behind it are checked, and then with a checksum of its own.
            self._checked = packet[-_CHECKSUM - 1] == 1
            return packet[_HEADER:-_CHECKSUM]
        if kind is Kind.ROTATE:
            return packet[_HEADER : -_CHECKSUM if fits else None]
        if self._checked and not fits:
            raise StageBroken(
                f"an event of the binlog at {self._words} is damaged, as its checksum says; nothing was written, try again, and look after the server's disk where it stays so"
            )
        return packet[_HEADER : -_CHECKSUM if self._checked else None]

    def _move(self, next_at: int, size: int) -> Place:
        """Behind the event, whose own place comes back. One that the server makes up has none."""
        if not next_at:
            return self.at
        if next_at - size < self.at.offset:
            raise Unreadable(
                f"a file of the binlog is larger than 4 GiB, so that its places are not those that it says (at {self._words}); load the tables again with {LOAD_AGAIN}"
            )
        begin = Place(self.at.turn, self.at.file, next_at - size)
        self.at = Place(self.at.turn, self.at.file, next_at)
        return begin

    @property
    def _words(self) -> str:
        return f"file {self.at.file}, byte {self.at.offset}"


def made_of(packets: Iterable[bytes]) -> int:
    """When the file was begun of which these come, in seconds since 1970: it begins with that, wherever it is read from. 0 where they do not say it."""
    return next((second for second, number, *_ in map(_header, packets) if number == Kind.FORMAT), 0)


def _moment(second: int) -> str:
    return f"begun {datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _header(packet: bytes) -> tuple[int, int, int, int]:
    read = int.from_bytes
    return read(packet[:4], "little"), packet[4], read(packet[9:13], "little"), read(packet[13:17], "little")
