"""The process that reads a log between ranges, as a range sees it: when it is worth it, how it is started and asked, and how it is ended, whoever started it."""

from __future__ import annotations

import hashlib
import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import psycopg

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.adapters.databases.postgresql.pinned import MARK, NAME
from incremental_assets.adapters.logs.postgresql.beginning import command, pins
from incremental_assets.adapters.logs.postgresql.look import Look, SlotState
from incremental_assets.adapters.logs.postgresql.replication import BEFORE_BYTES
from incremental_assets.adapters.logs.postgresql.resident.record import (
    AVAILABLE,
    BUSY,
    STARTED,
    Record,
    connected,
    forget,
    read_line,
    record_in,
    say_why_not,
    send_line,
    why_not,
)
from incremental_assets.adapters.logs.postgresql.slot import Slot
from incremental_assets.adapters.logs.postgresql.spool import Spool
from incremental_assets.adapters.logs.postgresql.walsender import freed
from incremental_assets.adapters.logs.postgresql.wire import Wire
from incremental_assets.adapters.permissions import strict
from incremental_assets.core.concurrency.interruption import this_process

_READY_SECONDS = 30.0
_SILENT_SECONDS = 60.0
"""For a range to come, which may take long, it says every second that it is there."""
_POLL_SECONDS = 0.2
_PIECE_BYTES = 2**20
_LEAST_CONNECTIONS = 4
"""Of fewer, one for it alone would be missed by those who load and look."""
# Its transactions stamp no row: whoever reads by a cursor need not wait for them.
_OURS = f"""
SELECT pg_catalog.pg_try_advisory_lock_shared({MARK[0]}, {MARK[1]})
WHERE pg_catalog.has_function_privilege('pg_catalog.pg_try_advisory_lock_shared(integer, integer)', 'EXECUTE')
"""
_END = "SELECT pg_catalog.pg_terminate_backend(a.pid) FROM pg_stat_activity AS a WHERE a.pid = $1 AND extract(epoch FROM a.backend_start)::text = $2"


@dataclass(frozen=True, slots=True)
class Resident:
    """Used while the server would decode `begins_at` bytes of its log anew for each range, as an open transaction has it do, and until these are fewer than `ends_at`."""

    address: Address
    slot: Slot
    folder: Path
    begins_at: int = 256 * 2**20
    ends_at: int = 64 * 2**20

    def unread(self, found: Look) -> Look:
        """The same, where it is this process that reads the slot: that is no other program."""
        known = record_in(self.folder)
        if known is None or found.slot is None or found.slot.reader != known.pid:
            return found
        return replace(found, slot=replace(found.slot, reader=None))

    def fill(self, asked: Asked, found: Look, upto: int, spool: Spool, *, binary: bool) -> bool:
        """Do what a transport does, where it is worth it; where not, nobody reads the slot any more. Raises what psycopg raises."""
        state, known = found.slot, record_in(self.folder)
        if state is None:
            return False
        terms = _terms(self.address, self.slot, found, asked.encoding, binary=binary)
        if known is not None:
            if known.terms == terms and _again(state) >= self.ends_at and _taken(known, upto, spool):
                return True
            spool.clear()
            self._end(asked, known)
        if self._is_worth_it(asked, found, state) and self._started(terms, asked.encoding, binary=binary):
            known = record_in(self.folder)
            if known is not None and _taken(known, upto, spool):
                return True
            spool.clear()
        self.end(asked)
        return False

    def advance(self, asked: Asked, position: int) -> bool:
        """Tell the source that nothing before the position need be kept, where it is this process that reads the slot; where not, nobody reads it any more."""
        known = record_in(self.folder)
        if known is None:
            return False
        connection = None if _releases_commits(asked) else connected(known.socket, _READY_SECONDS)
        if connection is not None:
            with connection, suppress(OSError, ValueError):
                send_line(connection, durable=position)
                answer = read_line(connection)
                if answer is not None and answer.get("done"):
                    return True
        self._end(asked, known)
        return False

    def end(self, asked: Asked) -> None:
        """Whoever started it."""
        known = record_in(self.folder)
        if known is not None:
            self._end(asked, known)

    def _end(self, asked: Asked, known: Record) -> None:
        # It may be on another machine, or stand still: the source ends its session, and by that the process.
        with suppress(psycopg.errors.InsufficientPrivilege):
            asked.execute(_END, (known.pid, known.started))
        # One whose session is another user's ends without its record.
        forget(self.folder)
        freed(asked, self.slot)

    def _is_worth_it(self, asked: Asked, found: Look, state: SlotState) -> bool:
        again = _again(state)
        return (
            AVAILABLE
            and again >= self.begins_at
            and again > found.lag_bytes
            and self.address.connections >= _LEAST_CONNECTIONS
            and self.address.ssh is None
            and not why_not(self.folder)
            # Which partition was written is said only before the first change of it in a session.
            and not (found.publication and found.publication.names_parts)
            and not _releases_commits(asked)
        )

    def _started(self, terms: str, encoding: str, *, binary: bool) -> bool:
        with self.address.budget.kept() as is_free:
            if not is_free:
                return False
        budget, wire = self.address.budget, Wire.of(encoding)
        told = {
            "terms": terms,
            "folder": str(self.folder),
            "arguments": driver_arguments(self.address),
            "pins": pins(self.address),
            "statements": [each for each in (wire.unconverted("SESSION"), _OURS) if each],
            "command": command(self.slot, wire, binary=binary).hex(),
            "budget": {"place": budget.place, "most": budget.most, "folder": budget.folder},
            "patience": self.address.socket_timeout.total_seconds(),
        }
        process = subprocess.Popen(
            # In the same folder, as paths of the environment may begin there; without it among the places of modules.
            [sys.executable, "-P", "-m", f"{__package__}.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            umask=strict(),
        )
        with this_process.cancelling(process.terminate), suppress(OSError):
            if process.stdin is not None and process.stdout is not None:
                with process.stdin, process.stdout:
                    process.stdin.write(json.dumps(told).encode())
                    process.stdin.close()
                    ready = select.select([process.stdout], [], [], _READY_SECONDS)[0]
                    said = process.stdout.readline() if ready else b"it took too long"
                    if said == STARTED:
                        return True
                    if said != BUSY:
                        say_why_not(self.folder, said.decode(errors="replace") or "its process has ended")
        process.kill()
        process.wait()
        return False


def _again(state: SlotState) -> int:
    """How much of the log the server decodes in vain, at each reading that begins where the slot is."""
    return max(0, state.confirmed - state.restart)


def _releases_commits(asked: Asked) -> bool:
    """Whether a commit that waits for a standby would go on by what we confirm, which no standby may have yet."""
    ((names,),) = asked.execute("SELECT pg_catalog.current_setting('synchronous_standby_names')")
    return "*" in names or NAME in names.lower()


def _terms(address: Address, slot: Slot, found: Look, encoding: str, *, binary: bool) -> str:
    """What a session depends on. A publication that is altered is read by a new one: servers of before 2025 may go on by the old one."""
    publication = found.publication
    parts = (
        address.budget.place, slot.name, slot.publication, encoding, binary, found.server.system, found.server.timeline, found.started,
        publication and publication.joined, publication and [(each.oid, each.joined) for each in publication.members],
    )  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class _Gone(Exception):
    """The process has ended, or does not answer: no error of the disk."""


def _taken(known: Record, upto: int, spool: Spool) -> bool:
    connection = connected(known.socket, _READY_SECONDS)
    if connection is None:
        return False
    spool.before = BEFORE_BYTES
    with connection:
        try:
            send_line(connection, take=upto)
            answer = _awaited(connection)
            spool.add_read(answer["messages"], answer["bytes"], lambda file, size: _receive(connection, file, size))
        except (OSError, ValueError, KeyError, _Gone):
            return False
    return True


def _awaited(connection: socket.socket) -> Mapping[str, Any]:
    """The answer that has something to say."""
    until = time.monotonic() + _SILENT_SECONDS
    while time.monotonic() < until:
        this_process.refuse("the stream of the log")
        if select.select([connection], [], [], _POLL_SECONDS)[0]:
            answer = read_line(connection)
            if answer is None:
                break
            if answer:
                return answer
            until = time.monotonic() + _SILENT_SECONDS
    raise _Gone


def _receive(connection: socket.socket, file: IO[bytes], size: int) -> None:
    left = size
    while left:
        try:
            piece = connection.recv(min(left, _PIECE_BYTES))
        except OSError:
            raise _Gone from None
        if not piece:
            raise _Gone
        file.write(piece)
        left -= len(piece)
