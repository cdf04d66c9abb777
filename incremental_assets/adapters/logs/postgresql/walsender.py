"""The log read by the protocol of replication: nothing is collected on the server before it is sent, whatever the size of a transaction.

The session reads from where the slot is, as a peek does, and never confirms what it got: asked again, it comes again.
"""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import NOT_IN_FORCE, Asked
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.adapters.databases.postgresql.pinned import pin_session
from incremental_assets.adapters.databases.postgresql.read_timeout import SILENT
from incremental_assets.adapters.databases.postgresql.sql import identifier, literal
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.adapters.logs.postgresql.peek import quoted
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.transactions import BEGIN, COMMIT
from incremental_assets.adapters.logs.postgresql.wire import Wire
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SourceRefused, StageBroken

_MESSAGE, _KEEPALIVE = ord("w"), ord("k")
_BEFORE_BYTES = 25
"""Before each message: its letter, two positions and a time."""
_COMMIT_END = struct.Struct(">Q"), _BEFORE_BYTES + 10
_SENT = struct.Struct(">Q"), 1
_WANTS_REPLY = 17
_STATUS = struct.Struct(">cQQQqc").pack(b"r", 0, 0, 0, 0, b"\x01")
"""Confirms nothing, and asks how far the server has come."""
_ASK_SECONDS = 0.05
_LEAVE_SECONDS = 1.0
"""For so long a stream may go on after we have asked for its end; then the line is cut."""
_FREE_SECONDS = 30.0
"""Within which the server sees that, and the slot is free."""


@dataclass(frozen=True, slots=True)
class Walsender:
    """Implements `Transport` by a session of its own for each range."""

    address: Address

    def __call__(self, asked: Asked, slot: Slot, upto: int, spool: Spool, *, binary: bool) -> None:
        """As `peek` does, in a session beside the one that asks, and so in a place of its own."""
        budget = self.address.budget
        if budget.most == 1:
            raise SourceRefused(
                f"{place_of(self.address)}: more of the log is to be read than the server collects for one answer, so that it is sent to a second session; "
                "write `parallel: {connections: 2}` or more"
            )
        with budget.readers(1):
            self._read(slot, upto, spool, Wire.of(asked.encoding), binary=binary)
            _freed(asked, slot)

    def _read(self, slot: Slot, upto: int, spool: Spool, wire: Wire, *, binary: bool) -> None:
        spool.before = _BEFORE_BYTES
        connection = psycopg.connect(**driver_arguments(self.address), replication="database", autocommit=True)  # type: ignore[arg-type]
        try:
            if connection.execute(pin_session().encode()).fetchone() != (True,):
                raise SourceRefused(f"{place_of(self.address)}: {NOT_IN_FORCE}")
            if unconverted := wire.unconverted("SESSION"):
                connection.execute(unconverted.encode())
            _start(connection.pgconn, slot, wire, binary=binary)
            spool.add_all(_messages(connection.pgconn, upto, self.address.socket_timeout.total_seconds()))
            _leave(connection.pgconn)
        finally:
            connection.close()


def _start(connection: PGconn, slot: Slot, wire: Wire, *, binary: bool) -> None:
    formats = ", binary 'true'" if binary else ""
    options = f"proto_version '1', publication_names {literal(quoted(slot.publication))}{formats}"
    connection.send_query(f"START_REPLICATION SLOT {identifier(slot.name)} LOGICAL 0/0 ({options})".encode(wire.codec))
    result = connection.get_result()
    if result is None or result.status != pq.ExecStatus.COPY_BOTH:
        raise _error(connection, result)


def _messages(wire: PGconn, upto: int, patience: float) -> Iterator[memoryview]:
    """Each with what comes before it, until nothing that was committed before the position is to come."""
    is_open = False
    while True:
        size, data = wire.get_copy_data(1)
        if size == 0:
            _wait(wire, patience)
        elif size < 0:
            raise _error(wire, wire.get_result())
        elif data[0] == _MESSAGE:
            letter = data[_BEFORE_BYTES]
            yield data
            is_open = letter == BEGIN or (is_open and letter != COMMIT)
            if letter == COMMIT and _at(_COMMIT_END, data) >= upto:
                return
        elif data[0] == _KEEPALIVE:
            if _at(_SENT, data) >= upto and not is_open:
                return
            if data[_WANTS_REPLY]:
                _ask(wire)


def _wait(wire: PGconn, patience: float) -> None:
    """Until something comes. The server says how far it has come when it is asked."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        this_process.refuse("the stream of the log")
        if select.select([wire.socket], [], [], _ASK_SECONDS)[0]:
            wire.consume_input()
            return
        _ask(wire)
    raise psycopg.OperationalError(f"{SILENT} {patience:.0f} seconds")


def _ask(wire: PGconn) -> None:
    wire.put_copy_data(_STATUS)
    wire.flush()


def _leave(wire: PGconn) -> None:
    """Ask for the end of the stream, and give away what still comes of it."""
    wire.put_copy_end()
    wire.flush()
    until = time.monotonic() + _LEAVE_SECONDS
    with suppress(psycopg.OperationalError):
        while time.monotonic() < until:
            size, _ = wire.get_copy_data(1)
            if size < 0:
                return
            if size == 0 and select.select([wire.socket], [], [], _ASK_SECONDS)[0]:
                wire.consume_input()


def _freed(asked: Asked, slot: Slot) -> None:
    """The slot can be given up when the server has seen the end of the session that read it."""
    until = time.monotonic() + _FREE_SECONDS
    while asked.execute(
        "SELECT FROM pg_replication_slots AS s WHERE s.slot_name = $1 AND s.active", (slot.name,)
    ).fetchall():
        this_process.refuse(slot.name)
        if time.monotonic() > until:
            raise psycopg.errors.ObjectInUse(f"the session that has read the replication slot {slot.name} does not end")
        time.sleep(_ASK_SECONDS)


def _at(place: tuple[struct.Struct, int], data: memoryview) -> int:
    form, offset = place
    return int(form.unpack_from(data, offset)[0])


def _error(wire: PGconn, result: pq.abc.PGresult | None) -> Exception:
    if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
        return psycopg.errors.error_from_result(result)
    words = wire.get_error_message()
    return (
        psycopg.OperationalError(words)
        if words
        else StageBroken("the stream of the log has ended by itself; nothing was written")
    )
