"""The log read by the protocol of replication: nothing is collected on the server before it is sent, whatever the size of a transaction.

The session reads from where the slot is, as a peek does, and never confirms what it got: asked again, it comes again.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import psycopg
from psycopg.pq.abc import PGconn

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.adapters.databases.postgresql.read_timeout import SILENT
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.adapters.logs.postgresql import replication
from incremental_assets.adapters.logs.postgresql.beginning import command, pins
from incremental_assets.adapters.logs.postgresql.letters import BEGIN, COMMIT
from incremental_assets.adapters.logs.postgresql.replication import BEFORE_BYTES, COMMIT_END, SENT, WANTS_REPLY
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.wire import Wire
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SourceRefused

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
            freed(asked, slot)

    def _read(self, slot: Slot, upto: int, spool: Spool, wire: Wire, *, binary: bool) -> None:
        spool.before = BEFORE_BYTES
        connection = replication.begun(driver_arguments(self.address), *pins(self.address))
        try:
            if unconverted := wire.unconverted("SESSION"):
                connection.execute(unconverted.encode())
            stream = replication.start(connection, command(slot, wire, binary=binary))
            spool.add_all(_messages(stream, upto, self.address.socket_timeout.total_seconds()))
            _leave(stream)
        finally:
            connection.close()


def _messages(stream: PGconn, upto: int, patience: float) -> Iterator[memoryview]:
    """Each with what comes before it, until nothing that was committed before the position is to come."""
    is_open = False
    while True:
        size, data = stream.get_copy_data(1)
        if size == 0:
            _wait(stream, patience)
        elif size < 0:
            raise replication.failure(stream, stream.get_result())
        elif data[0] == replication.MESSAGE:
            letter = data[BEFORE_BYTES]
            yield data
            is_open = letter == BEGIN or (is_open and letter != COMMIT)
            if letter == COMMIT and replication.at(COMMIT_END, data) >= upto:
                return
        elif data[0] == replication.KEEPALIVE:
            if replication.at(SENT, data) >= upto and not is_open:
                return
            if data[WANTS_REPLY]:
                replication.tell(stream)


def _wait(stream: PGconn, patience: float) -> None:
    """Until something comes. The server says how far it has come when it is asked."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        this_process.refuse("the stream of the log")
        if select.select([stream.socket], [], [], _ASK_SECONDS)[0]:
            stream.consume_input()
            return
        replication.tell(stream)
    raise psycopg.OperationalError(f"{SILENT} {patience:.0f} seconds")


def _leave(stream: PGconn) -> None:
    """Ask for the end of the stream, and give away what still comes of it."""
    stream.put_copy_end()
    stream.flush()
    until = time.monotonic() + _LEAVE_SECONDS
    with suppress(psycopg.OperationalError):
        while time.monotonic() < until:
            size, _ = stream.get_copy_data(1)
            if size < 0:
                return
            if size == 0 and select.select([stream.socket], [], [], _ASK_SECONDS)[0]:
                stream.consume_input()


def freed(asked: Asked, slot: Slot) -> None:
    """Wait until the server has seen the end of the session that read the slot: it can be given up then."""
    until = time.monotonic() + _FREE_SECONDS
    while asked.execute(
        "SELECT FROM pg_replication_slots AS s WHERE s.slot_name = $1 AND s.active", (slot.name,)
    ).fetchall():
        this_process.refuse(slot.name)
        if time.monotonic() > until:
            raise psycopg.errors.ObjectInUse(f"the session that has read the replication slot {slot.name} does not end")
        time.sleep(_ASK_SECONDS)
