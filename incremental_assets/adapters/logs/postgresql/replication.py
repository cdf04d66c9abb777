"""What a session of replication says and hears: how a stream begins, the parts of its messages, and how it ends. Light: a process of its own imports it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import psycopg
from psycopg import pq
from psycopg.pq.abc import PGconn

from incremental_assets.core.errors import SourceRefused, StageBroken

MESSAGE, KEEPALIVE = ord("w"), ord("k")
BEFORE_BYTES = 25
"""Before each message: its letter, two positions and a time."""
COMMIT_END = struct.Struct(">Q"), BEFORE_BYTES + 10
SENT = struct.Struct(">Q"), 1
WANTS_REPLY = 17
_STATUS = struct.Struct(">cQQQqc")


def begun(arguments: Mapping[str, Any], pins: str, refused: str) -> psycopg.Connection[Any]:
    """A session of replication in which `pins` are in force. Raises what psycopg raises, and SourceRefused with that sentence where they are not."""
    connection = psycopg.connect(**arguments, replication="database", autocommit=True)
    with ExitStack() as failed:
        failed.callback(connection.close)
        if connection.execute(pins.encode()).fetchone() != (True,):
            raise SourceRefused(refused)
        failed.pop_all()
    return connection


def start(connection: psycopg.Connection[Any], command: bytes) -> PGconn:
    """Have the server send what the slot holds, from where it is."""
    stream = connection.pgconn
    stream.send_query(command)
    result = stream.get_result()
    if result is None or result.status != pq.ExecStatus.COPY_BOTH:
        raise failure(stream, result)
    return stream


def tell(stream: PGconn, written: int = 0, durable: int = 0, *, asks: bool = True) -> None:
    """What we have: nothing need be kept before `durable`, unless that is 0. A server that is shut down waits until all is `written`. `asks` how far it has come."""
    stream.put_copy_data(_STATUS.pack(b"r", written, durable, durable, 0, bytes((asks,))))
    stream.flush()


def at(place: tuple[struct.Struct, int], data: memoryview | bytes) -> int:
    """A position in a message of the session."""
    form, offset = place
    return int(form.unpack_from(data, offset)[0])


def failure(stream: PGconn, result: pq.abc.PGresult | None) -> Exception:
    """Why a stream has ended."""
    if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
        return psycopg.errors.error_from_result(result)
    words = stream.get_error_message()
    return (
        psycopg.OperationalError(words)
        if words
        else StageBroken("the stream of the log has ended by itself; nothing was written")
    )
