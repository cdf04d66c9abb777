"""The process that keeps a session of replication: it reads what the server sends, and gives it to whoever asks for a range.

Started by a run that finds the log worth it, and told on its standard input what to read, so that no password is in a list of processes or in a file. It ends
with its session, when nobody has asked for a while, and when its record is no more.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.logs.postgresql import replication
from incremental_assets.adapters.logs.postgresql.resident.pending import Pending
from incremental_assets.adapters.logs.postgresql.resident.record import BUSY, STARTED, Record, record_in, socket_path
from incremental_assets.adapters.logs.postgresql.resident.serving import Reader
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.errors import IncrementalAssetsError

# A pooler tells its clients other numbers.
_ITSELF = (
    "SELECT pid, extract(epoch FROM backend_start)::text FROM pg_catalog.pg_stat_activity WHERE pid = pg_backend_pid()"
)


def run(told: Mapping[str, Any]) -> None:
    """Read a slot until the end; says on standard output when it is read. Raises what psycopg raises, OSError, SourceRefused."""
    folder = Path(told["folder"])
    with (
        Budget(**told["budget"]).kept() as is_free,
        _listening() as (listener, path),
    ):
        if not is_free:
            sys.stdout.buffer.write(BUSY)
            return
        with closing(replication.begun(told["arguments"], *told["pins"])) as connection:
            # Before texts come as they are stored, of which not all are texts to the driver.
            pid, started = connection.execute(_ITSELF).fetchone() or (0, "")
            for statement in told["statements"]:
                connection.execute(statement.encode())
            mine = Record(told["terms"], path, pid, started)
            # Before the slot is taken: whoever finds it taken finds who has it.
            mine.write(folder)
            # It stays there: the slot may be ours for a moment longer than this process lives.
            stream = replication.start(connection, bytes.fromhex(told["command"]))
            sys.stdout.buffer.write(STARTED)
            sys.stdout.close()
            pending = Pending(own_folder(folder / "scratch"))
            Reader(stream, pending, listener, told["patience"]).serve(lambda: record_in(folder) == mine)


@contextmanager
def _listening() -> Iterator[tuple[socket.socket, str]]:
    path = str(socket_path(secrets.token_hex(16)))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        os.umask(0o077)
        listener.bind(path)
        try:
            listener.listen()
            yield listener, path
        finally:
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a name, not a place


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        run(json.load(sys.stdin))
    except (psycopg.Error, OSError, IncrementalAssetsError) as error:
        # Once it was started nobody listens any more: whoever needs the log reads it in another way, and says there what is wrong with it.
        if not sys.stdout.closed:
            sys.stdout.write(" ".join(str(error).split()))
