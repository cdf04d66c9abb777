"""A port through which a server's clients go, and which counts what passes. It costs time, so that what goes through it is not timed, unless it is to come late: each question waits then before it is handed on."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
_PIECE = 1 << 18


class Relay:
    """To the server on that port of this machine, while the block runs."""

    def __init__(self, port: int, late: float = 0.0) -> None:
        self._to, self._late, self._counting = port, late, threading.Lock()
        self._sent = self._asked = self._received = 0

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

    @property
    def received(self) -> int:
        """Bytes that the server was sent so far."""
        with self._counting:
            return self._received

    @property
    def asked(self) -> int:
        """Questions so far, of a protocol in which each side waits for the other: what comes from a client after an answer, or first of all, begins one."""
        with self._counting:
            return self._asked

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            server = socket.create_connection((HOST, self._to))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            answered = threading.Event()
            answered.set()
            for one, other, told in ((client, server, self._question), (server, client, self._answer)):
                threading.Thread(target=_pass, args=(one, other, partial(told, answered)), daemon=True).start()

    def _question(self, answered: threading.Event, size: int) -> None:
        begins = answered.is_set()
        answered.clear()
        with self._counting:
            self._received += size
            self._asked += begins
        if begins:
            time.sleep(self._late)

    def _answer(self, answered: threading.Event, size: int) -> None:
        answered.set()
        with self._counting:
            self._sent += size


def _pass(one: socket.socket, other: socket.socket, told: Callable[[int], None]) -> None:
    """Until one of them ends; the other then hears of it."""
    with suppress(OSError):
        while piece := one.recv(_PIECE):
            told(len(piece))
            other.sendall(piece)
    for end in (one, other):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
