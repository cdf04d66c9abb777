"""What a stream has sent and nobody has taken yet: on disk, to be taken up to any commit.

The server says only once in a session what the columns of a table are. Whoever takes a range gets it said before the first change of each table in it, as a
session of its own would.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from incremental_assets.adapters.logs.postgresql.letters import (
    BEGIN,
    COMMIT,
    DELETE,
    INSERT,
    MESSAGE,
    RELATION,
    TRUNCATE,
    TYPE,
    UPDATE,
)
from incremental_assets.adapters.logs.postgresql.replication import BEFORE_BYTES, COMMIT_END, at
from incremental_assets.adapters.permissions import nameless_file

LENGTH_BYTES = 4
_OID_AT = BEFORE_BYTES + 1
_TRUNCATED_AT = BEFORE_BYTES + 6
_ROWS = frozenset((INSERT, UPDATE, DELETE))
_BETWEEN = bytes(BEFORE_BYTES) + bytes((MESSAGE,))
"""Says nothing, and stands between two tables: a table right behind another one is a partition of it."""


Said = tuple[bytes, ...]
"""What the server says of a table: the types of its columns, then the table."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A range: what has to be said before it, how many messages of how many bytes, and where its last commit ends; None where it has none."""

    before: Sequence[bytes]
    messages: int
    bytes: int
    end: int | None


Files = tuple[IO[bytes], IO[bytes]]
"""The messages, one after the other, and the length of each as 32 bits."""


class Pending:
    """Fed with the messages of one session in their order, each with what comes before it."""

    def __init__(self, folder: Path) -> None:
        self.sent = 0
        """How far the server says it has come."""
        self._folder = folder
        self._types: Said = ()
        self._begin({})

    def add(self, message: bytes) -> None:
        """One more message."""
        letter = message[BEFORE_BYTES]
        if letter in _ROWS:
            self._needs(_oid(message, _OID_AT))
        elif letter == BEGIN:
            self.is_open = True
        elif letter == RELATION:
            self._say(_oid(message, _OID_AT), (*self._types, message))
        elif letter == TRUNCATE:
            for place in range(_TRUNCATED_AT, len(message), 4):
                self._needs(_oid(message, place))
        self._types = (*self._types, message) if letter == TYPE else ()
        self._files[0].write(message)
        self._files[1].write(len(message).to_bytes(LENGTH_BYTES, sys.byteorder))
        self.messages += 1
        self.bytes += len(message)
        if letter == COMMIT:
            self.is_open = False
            for places, place in zip(self._ends, (at(COMMIT_END, message), self.messages, self.bytes), strict=True):
                places.append(place)

    def reaches(self, upto: int) -> bool:
        """Whether nothing that was committed before the position is to come."""
        last = self._ends[0][-1] if self._ends[0] else 0
        return last >= upto or (self.sent >= upto and not self.is_open)

    def take(self, upto: int) -> tuple[Taken, Files]:
        """What was committed up to a position that is reached, and the rest of the transaction that reaches it; the files begin with it, and are the caller's from now on."""
        ends = self._ends[0]
        place = min(bisect_left(ends, upto), len(ends) - 1)
        end, messages, size = (None, 0, 0) if place < 0 else (each[place] for each in self._ends)
        before = [each for first, said in self._unsaid if first < messages for each in (*said, _BETWEEN)]
        files, goes_on = self._files, self.messages > messages
        for file in files:
            file.flush()
        said = {oid: each for first, oid, each in self._news if first < messages}
        self._begin({**self._known, **said})
        for message in _from(files, messages, size) if goes_on else ():
            self.add(message)
        return Taken(before, messages, size, end), files

    def _begin(self, known: Mapping[int, Said]) -> None:
        """A range, with what was said before it."""
        self.is_open = False
        """Whether a transaction has begun and not ended."""
        self.messages = self.bytes = 0
        self._files: Files = (nameless_file(self._folder), nameless_file(self._folder))
        self._ends = (array("Q"), array("Q"), array("Q"))
        """Of each commit: where it ends in the log, and how many messages and bytes there are by then."""
        self._known = known
        self._news: list[tuple[int, int, Said]] = []
        """What was said of which table in this range, and by which message."""
        self._unsaid: list[tuple[int, Said]] = []
        """What has to be said before this range of tables that it says nothing of before their first change, and which message that is."""
        self._seen: set[int] = set()

    def _say(self, oid: int, said: Said) -> None:
        self._news.append((self.messages, oid, said))
        self._seen.add(oid)

    def _needs(self, oid: int) -> None:
        if oid not in self._seen:
            self._seen.add(oid)
            self._unsaid.append((self.messages, self._known.get(oid, ())))


def _from(files: Files, messages: int, size: int) -> Iterator[bytes]:
    """The messages behind so many."""
    written, lengths = files
    lengths.seek(LENGTH_BYTES * messages)
    written.seek(size)
    while raw := lengths.read(LENGTH_BYTES):
        yield written.read(int.from_bytes(raw, sys.byteorder))


def _oid(message: bytes, place: int) -> int:
    return int.from_bytes(message[place : place + 4])
