"""A TCP proxy between the product and its source that cuts or stalls connections, or has something else done, after so many bytes of answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.conformance.stand import P, Stand

_CHUNK = 4096


@dataclass
class Proxy:
    """Lets everything through until it is told otherwise; `_left` counts down the bytes of answers that still pass."""

    port: int
    cuts: int = 0
    stalled: int = 0
    _left: int | None = None
    done: int = 0
    _stalls: bool = False
    _fault: Callable[[], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def cut_after(self, count: int) -> None:
        """Every connection ends once this many more bytes have come from the server."""
        self._left, self._stalls = count, False

    def do_after(self, count: int, fault: Callable[[], None]) -> None:
        """It is done once, between two pieces of an answer, and everything goes through."""
        self._left, self._fault = count, fault

    def stall_after(self, count: int) -> None:
        """Every connection stays open and says nothing more."""
        self._left, self._stalls = count, True

    def heal(self) -> None:
        """Let everything through again; what was stalled stays dead."""
        self._left = None

    def passes(self, count: int) -> str:
        """What becomes of the next bytes."""
        with self._lock:
            if self._left is None:
                return "through"
            self._left -= count
            if self._left >= 0:
                return "through"
            if self._fault is not None:
                fault, self._fault, self._left = self._fault, None, None
                fault()
                self.done += 1
                return "through"
            if self._stalls:
                self.stalled += 1
                return "stall"
            self.cuts += 1
            return "cut"


@contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """On loopback, before the server at `target`."""
    listener = socket.create_server(("127.0.0.1", 0))
    this = Proxy(listener.getsockname()[1])
    opened: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", target))
            except OSError:
                client.close()
                continue
            opened.extend((client, server))
            threading.Thread(target=_pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=_pump, args=(server, client, this), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield this
    finally:
        listener.close()
        for end in opened:
            with contextlib.suppress(OSError):
                end.close()


@contextmanager
def behind_a_proxy(desk: Stand[P]) -> Iterator[Proxy]:
    """The product now reaches its source through a proxy."""
    with proxy(desk.shop.port) as between:
        text = desk.shop.config.read_text()
        desk.shop.config.write_text(text.replace(f"port: {desk.shop.port}", f"port: {between.port}"))
        try:
            yield between
        finally:
            desk.shop.config.write_text(text)


def _pump(source: socket.socket, sink: socket.socket, gate: Proxy | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            fate = gate.passes(len(data)) if gate is not None else "through"
            if fate == "stall":
                return  # both ends stay open, as behind a router that has forgotten the connection
            if fate == "cut":
                break
            sink.sendall(data)
    for end in (source, sink):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
