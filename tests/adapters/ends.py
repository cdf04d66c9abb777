"""A way to a server that keeps to itself that the server has ended a session."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Way:
    """`came`: the server has ended the first session that was opened on this way; `passes`: its client may know."""

    port: int
    came: threading.Event = field(default_factory=threading.Event)
    passes: threading.Event = field(default_factory=threading.Event)


@contextmanager
def way_to(host: str, port: int) -> Iterator[Way]:
    """On loopback; whatever else is opened on it goes through."""
    listener = socket.create_server(("127.0.0.1", 0))
    way = Way(listener.getsockname()[1])

    def up(client: socket.socket, line: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                line.sendall(data)

    def down(client: socket.socket, *, first: bool) -> None:
        with suppress(OSError), client, socket.create_connection((host, port)) as line:
            threading.Thread(target=up, args=(client, line), daemon=True).start()
            while data := line.recv(65_536):
                client.sendall(data)
            if first:
                way.came.set()
                way.passes.wait(60)
            client.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        first = True
        with suppress(OSError):
            while True:
                threading.Thread(
                    target=down, args=(listener.accept()[0],), kwargs={"first": first}, daemon=True
                ).start()
                first = False

    threading.Thread(target=serve, daemon=True).start()
    with closing(listener):
        try:
            yield way
        finally:
            way.passes.set()
