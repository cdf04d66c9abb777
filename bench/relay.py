"""How many bytes a server sends: a port through which its clients go, and which counts what passes. It costs time, so what goes through it is not timed."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
_PIECE = 1 << 18


class Relay:
    """To the server on that port of this machine, while the block runs."""

    def __init__(self, port: int) -> None:
        self._to, self._counting = port, threading.Lock()
        self._sent = 0

    def __enter__(self) -> Self:
        self._door = socket.create_server((HOST, 0))
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Who waits in `accept` is not woken by `close` alone.
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    @property
    def port(self) -> int:
        """Its own."""
        return int(self._door.getsockname()[1])

    @property
    def sent(self) -> int:
        """Bytes that the server has sent so far. A byte counts before a client can have it."""
        with self._counting:
            return self._sent

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.create_connection((HOST, self._to))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for one, other in ((client, server), (server, client)):
                words = {"counts": one is server}
                threading.Thread(target=self._pass, args=(one, other), kwargs=words, daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket, *, counts: bool) -> None:
        """Until one of them ends; the other then hears of it."""
        with suppress(OSError):
            while piece := one.recv(_PIECE):
                if counts:
                    with self._counting:
                        self._sent += len(piece)
                other.sendall(piece)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
