"""The relay passes on what both sides say, and counts what the server has said."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from bench.relay import HOST, Relay

ANSWER = b"row " * 500_000


@pytest.fixture
def server() -> Iterator[int]:
    """Hears a word from each client, answers two million bytes, and hangs up."""
    with socket.create_server((HOST, 0)) as door:

        def serve() -> None:
            while True:
                try:
                    client, _ = door.accept()
                except OSError:
                    return
                with client:
                    assert client.recv(100) == b"SELECT"
                    client.sendall(ANSWER)

        threading.Thread(target=serve, daemon=True).start()
        yield door.getsockname()[1]
        door.shutdown(socket.SHUT_RDWR)


def ask(port: int) -> bytes:
    with socket.create_connection((HOST, port)) as client:
        client.sendall(b"SELECT")
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def test_every_byte_of_every_answer_arrives_and_is_counted_and_no_question_is(server: int) -> None:
    with Relay(server) as relay:
        assert relay.sent == 0
        assert ask(relay.port) == ANSWER
        assert relay.sent == 2_000_000
        assert ask(relay.port) == ANSWER
        assert relay.sent == 4_000_000


def test_nobody_gets_through_after_its_block(server: int) -> None:
    with Relay(server) as relay:
        port = relay.port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((HOST, port))


def test_each_question_is_counted_once_in_however_many_pieces_it_comes_and_waits_once() -> None:
    with socket.create_server((HOST, 0)) as door, Relay(door.getsockname()[1], late=0.1) as relay:
        begun = time.monotonic()
        with socket.create_connection((HOST, relay.port)) as client:
            server, _ = door.accept()
            with server:
                for _ in range(3):
                    for piece in (b"SEL", b"ECT"):
                        client.sendall(piece)
                        assert server.recv(100) == piece
                    server.sendall(b"row")
                    assert client.recv(100) == b"row"
        assert (relay.asked, relay.received, relay.sent) == (3, 18, 9)
    assert 0.3 <= time.monotonic() - begun < 0.6
