"""What a session of replication sends, given range by range to whoever asks for it."""

from __future__ import annotations

import select
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from psycopg.pq.abc import PGconn

from incremental_assets.adapters.logs.postgresql import replication
from incremental_assets.adapters.logs.postgresql.replication import SENT
from incremental_assets.adapters.logs.postgresql.resident.pending import LENGTH_BYTES, Pending
from incremental_assets.adapters.logs.postgresql.resident.record import is_ours, read_line, send_line

_IDLE_SECONDS = 900.0
"""For so long it stays without being asked: tables that are synced every few minutes find it."""
_TELL_SECONDS = 5.0
"""Between two words to the server, which else takes us for dead."""
_ASK_SECONDS = 0.05
_REASSURE_SECONDS = 1.0
"""Between two words to whoever waits."""
_ANSWER_SECONDS = 60.0
"""For a question to come whole, and for a range to be taken."""
_MOST_BYTES = 2 * 2**30
"""Of what nobody asks for: the server has it still."""
_AT_ONCE = 10_000
"""Messages, before somebody else is looked after."""


class Reader:
    """One session and what it has sent."""

    def __init__(self, stream: PGconn, pending: Pending, listener: socket.socket, patience: float) -> None:
        self._stream, self._pending, self._listener, self._patience = stream, pending, listener, patience
        self._asking: tuple[socket.socket, int] | None = None
        """Who waits for a range, and up to where."""
        self._given: int | None = None
        """Where a range ends that was given and, as far as is known here, is not durable."""
        self._is_over = False
        self._asked_at = self._heard_at = self._told_at = self._looked_at = self._reassured_at = time.monotonic()

    def serve(self, is_wanted: Callable[[], bool]) -> None:
        """Until nobody asks any more, or somebody asks for the end. Raises what psycopg raises, OSError."""
        has_more = False
        while not self._is_over:
            self._wait(0.0 if has_more else _ASK_SECONDS if self._asking else _TELL_SECONDS)
            has_more = self._pump()
            self._answer()
            pause = _ASK_SECONDS if self._asking else _TELL_SECONDS
            if time.monotonic() - self._told_at > pause:
                self._tell()
                self._reassure()
            if time.monotonic() - self._looked_at > pause:
                self._looked_at = time.monotonic()
                self._is_over |= not is_wanted() or self._is_too_much or self._is_silent

    @property
    def _is_too_much(self) -> bool:
        """In the middle of a transaction nobody could take it."""
        idle = time.monotonic() - self._asked_at
        return self._asking is None and (
            idle > _IDLE_SECONDS or (self._pending.bytes > _MOST_BYTES and not self._pending.is_open)
        )

    @property
    def _is_silent(self) -> bool:
        """A server that is there answers each word of ours."""
        since = max(self._asked_at, self._heard_at)
        return self._asking is not None and time.monotonic() - since > self._patience

    def _wait(self, seconds: float) -> None:
        places: tuple[socket.socket | int, ...] = (self._listener, self._stream.socket)
        ready = select.select(places, [], [], seconds)[0]
        if self._stream.socket in ready:
            self._heard_at = time.monotonic()
            self._stream.consume_input()
        if self._listener in ready:
            self._hear()

    def _pump(self) -> bool:
        """Whether more has come than was looked at. Always read: a server that is shut down waits until all is."""
        for _ in range(_AT_ONCE):
            size, data = self._stream.get_copy_data(1)
            if size == 0:
                return False
            if size < 0:
                raise replication.failure(self._stream, self._stream.get_result())
            if data[0] == replication.MESSAGE:
                self._pending.add(bytes(data))
            elif data[0] == replication.KEEPALIVE:
                self._pending.sent = replication.at(SENT, data)
                if data[replication.WANTS_REPLY]:
                    self._tell(asks=False)
        return True

    def _tell(self, durable: int = 0, *, asks: bool = True) -> None:
        self._told_at = time.monotonic()
        replication.tell(self._stream, self._pending.sent, durable, asks=asks)

    def _reassure(self) -> None:
        """Whoever waits need not take us for dead."""
        if self._asking is not None and time.monotonic() - self._reassured_at > _REASSURE_SECONDS:
            self._reassured_at = time.monotonic()
            with suppress(OSError):
                send_line(self._asking[0])

    def _hear(self) -> None:
        connection = self._listener.accept()[0]
        connection.settimeout(_ANSWER_SECONDS)
        with suppress(OSError, ValueError):
            question = read_line(connection) if is_ours(connection) else None
            if question is not None:
                self._asked_at = time.monotonic()
                self._do(connection, **question)
                return
        connection.close()

    def _do(self, connection: socket.socket, take: int | None = None, durable: int | None = None, **_: Any) -> None:
        if take is not None:
            # Who asked before is gone: one at a time does, by the lock of the segments.
            self._asking = (connection, take)
            return
        with connection:
            is_known = durable is not None and (self._given is None or durable >= self._given)
            if durable is not None and is_known:
                self._given = None
                self._tell(durable)
                # A server that commits when its standbys have written takes us for one as long as we name such a place.
                self._tell()
            send_line(connection, done=is_known)
        self._is_over |= not is_known

    def _answer(self) -> None:
        if self._asking is None:
            return
        connection, upto = self._asking
        if _has_left(connection):
            self._asking = None
        elif self._given is not None:
            # It was given to somebody who has died with it.
            self._is_over = True
        elif self._pending.reaches(upto):
            self._asking = None
            with suppress(OSError):
                self._give(connection, upto)
            self._asked_at = time.monotonic()

    def _give(self, connection: socket.socket, upto: int) -> None:
        taken, (messages, lengths) = self._pending.take(upto)
        self._given = taken.end
        said = b"".join(taken.before)
        sizes = b"".join(len(each).to_bytes(LENGTH_BYTES, sys.byteorder) for each in taken.before)
        with connection, messages, lengths:
            send_line(connection, messages=len(taken.before) + taken.messages, bytes=len(said) + taken.bytes)
            connection.sendall(sizes)
            _send(connection, lengths, LENGTH_BYTES * taken.messages)
            connection.sendall(said)
            _send(connection, messages, taken.bytes)


def _send(connection: socket.socket, file: IO[bytes], size: int) -> None:
    if size:
        connection.sendfile(file, 0, size)


def _has_left(connection: socket.socket) -> bool:
    """Whoever asks says nothing more until he has his answer."""
    return bool(select.select([connection], [], [], 0)[0])
