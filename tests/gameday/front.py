"""What stands before the database: it ends TLS, as a pooler or the proxy of a cloud does, and its certificate can be exchanged while it serves."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_CHUNK = 65_536
_AGREED = b"S"
"""PostgreSQL's answer to who asks for TLS."""


@dataclass
class Front:
    """On loopback. `authority`: the file of who has signed its certificate."""

    port: int
    folder: Path
    _context: ssl.SSLContext

    @property
    def authority(self) -> Path:
        return self.folder / "authority.crt"

    def renew(self, *, days: int = 30) -> None:
        """A new certificate, for whoever connects from now on; below 0 days one that has expired."""
        _sign(self.folder, days)
        self._context = _served(self.folder)

    @property
    def context(self) -> ssl.SSLContext:
        return self._context


@contextmanager
def front(folder: Path, target: int) -> Iterator[Front]:
    """Before the server at `target`."""
    folder.mkdir(parents=True)
    _openssl(folder, "req", "-x509", *_NEW, "-keyout", "authority.key", "-out", "authority.crt", "-subj", "/CN=games")
    _sign(folder, 30)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    this = Front(listener.getsockname()[1], folder, _served(folder))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_between, args=(this, client, target), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield this
    finally:
        listener.close()


def _between(this: Front, client: socket.socket, target: int) -> None:
    with suppress(OSError):
        client.recv(8)
        client.sendall(_AGREED)
        near = this.context.wrap_socket(client, server_side=True)
        far = socket.create_connection(("127.0.0.1", target))
        threading.Thread(target=_pump, args=(far, near), daemon=True).start()
        _pump(near, far)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


_NEW = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30")


def _sign(folder: Path, days: int) -> None:
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    _openssl(folder, "req", *_NEW[:-2], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    # Of no days it is void the moment that it is signed.
    _openssl(
        folder, "x509", "-req", "-in", "server.csr", "-CA", "authority.crt", "-CAkey", "authority.key",
        "-days", str(days), "-extfile", "names", "-out", "server.crt",
    )  # fmt: skip


def _served(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    return context


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
