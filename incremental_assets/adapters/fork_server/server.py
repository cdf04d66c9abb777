"""The process that forks: it waits, reaps and passes on exit statuses, and starts no thread, which a fork would lack."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from incremental_assets.adapters.fork_server.channel import NAME, Request, address, peer, private, receive
from incremental_assets.adapters.fork_server.client import ACCEPTED, ENDED, REFUSED, is_open

_SENT_WITHIN = 5
"""Seconds for a request to arrive whole: nobody else is served meanwhile."""
_LOOKS_EVERY = 5.0
"""Seconds, to see whether the socket is still there."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A command, in the process that is to run it."""

    request: Request
    streams: list[int]
    """Standard input, output and error, then the others that the request names."""
    client: socket.socket


def serve(folder: Path, mine: Collection[str]) -> Accepted | None:
    """Fork for each request of one of these fingerprints. In a fork, returns what it is to run; in the server, None at its end. Raises OSError for a folder that is not private."""
    reader, writer = socket.socketpair()
    writer.settimeout(0)
    signal.set_wakeup_fd(writer.fileno())
    server = _Server(private(folder), mine)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: server.leave())
    while server.listener or server.clients:
        heard = [reader, server.listener] if server.listener else [reader]
        ready, _, _ = select.select(heard, [], [], _LOOKS_EVERY)
        if reader in ready:
            reader.recv(4096)
        server.reap()
        if server.listener in ready:
            accepted = server.accept()
            if accepted is not None:
                signal.set_wakeup_fd(-1)
                reader.close()
                writer.close()
                return accepted
        if server.left or not server.is_there:
            server.close()
    return None


def become(accepted: Accepted) -> list[str]:
    """Make this fork the process that its caller would have started, answer the caller, and return the arguments. Starts no thread, as the program may fork."""
    request = accepted.request
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _place(accepted)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    os.umask(request.umask)
    with suppress(OSError):  # it may be gone, as it may be for any process
        os.chdir(request.folder)
    sys.path[:] = request.path
    sys.argv[:] = ["incremental-assets", *request.arguments]
    # As Python opened them for the server, which had the same locale.
    sys.stdin = _opened_like(sys.stdin, 0, "r")
    sys.stdout = _opened_like(sys.stdout, 1, "w")
    sys.stderr = _opened_like(sys.stderr, 2, "w", buffering=1)
    # Said by the fork, and before it begins: had the server to say it, one that is killed in between would leave a caller
    # that believes that nothing has begun, and runs the command once more.
    with suppress(OSError):  # a caller that was killed takes its command along
        accepted.client.sendall(f"{ACCEPTED} {os.getpid()}\n".encode())
    return list(request.arguments)


def end_with_caller(accepted: Accepted) -> None:
    """A caller that was killed would have taken its command with it."""
    threading.Thread(target=_end_with, args=(accepted.client,), name="client", daemon=True).start()


class _Server:
    """The socket in an open folder, and the forks, by their pid, with the connections of their callers."""

    def __init__(self, folder: int, mine: Collection[str]) -> None:
        self._folder, self._mine = folder, mine
        self.clients: dict[int, socket.socket] = {}
        self.left = False
        with suppress(FileNotFoundError):
            os.unlink(NAME, dir_fd=folder)
        self.listener: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(address(folder))
        self.listener.listen()
        self._inode = os.stat(NAME, dir_fd=folder).st_ino

    @property
    def is_there(self) -> bool:
        """Whether who looks for a server finds this one: the folder may have been removed, or another may have taken its place."""
        try:
            return os.stat(NAME, dir_fd=self._folder).st_ino == self._inode
        except OSError:
            return False

    def leave(self) -> None:
        """Take no more commands; those that run are seen to their end. For a signal's handler: it only notes that."""
        self.left = True

    def close(self) -> None:
        """Let go of the socket, and of its name if that is still this one's."""
        if self.listener is None:
            return
        if self.is_there:
            os.unlink(NAME, dir_fd=self._folder)
        self.listener.close()
        self.listener = None

    def accept(self) -> Accepted | None:
        """One command: None in the server, the command in the fork."""
        assert self.listener is not None  # noqa: S101 - asked only when it was heard
        client, _ = self.listener.accept()
        client.settimeout(_SENT_WITHIN)
        try:
            if peer(client)[1] != os.geteuid():
                raise PermissionError
            request, streams = receive(client)
        except (
            OSError,
            ValueError,
            TypeError,
            struct.error,
        ):  # another user, a look whether anybody is here, or nonsense
            client.close()
            return None
        if request.fingerprint not in self._mine:
            _refuse(client, streams)
            return None
        client.settimeout(None)
        try:
            pid = os.fork()
        except OSError:  # no process or memory is left: its caller runs it alone, and those that run here go on
            _refuse(client, streams)
            return None
        if pid == 0:
            # Nothing of the server's stays with the command: its callers would wait for this one's end, too.
            for other in (*self.clients.values(), self.listener):
                other.close()
            os.close(self._folder)
            return Accepted(request, streams, _out_of_the_way(client, request.inherited))
        for stream in streams:
            os.close(stream)
        self.clients[pid] = client
        return None

    def reap(self) -> None:
        """Tell those who wait how their command has ended."""
        while self.clients:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            code = os.waitstatus_to_exitcode(status)
            with self.clients.pop(pid) as client, suppress(OSError):
                client.sendall(f"{ENDED} {code if code >= 0 else 128 - code}\n".encode())


def _out_of_the_way(client: socket.socket, numbers: Collection[int]) -> socket.socket:
    """The connection, above these numbers."""
    with client:
        return socket.socket(fileno=fcntl.fcntl(client, fcntl.F_DUPFD_CLOEXEC, max(numbers, default=2) + 1))


def _place(accepted: Accepted) -> None:
    """Give the files the numbers that they have for the caller. Where one is in use the fork ends, and the caller runs the program itself."""
    numbers = [*range(3), *accepted.request.inherited]
    above = max(numbers) + 1
    moved = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, above) for stream in accepted.streams]
    for stream in accepted.streams:
        os.close(stream)
    if any(is_open(number) for number in accepted.request.inherited):
        _refuse(accepted.client, moved)
        os._exit(0)
    for stream, number in zip(moved, numbers, strict=True):
        os.dup2(stream, number)
        os.close(stream)


def _refuse(client: socket.socket, streams: list[int]) -> None:
    for stream in streams:
        os.close(stream)
    with client, suppress(OSError):
        client.sendall(f"{REFUSED} \n".encode())


def _opened_like(stream: TextIO, number: int, mode: str, buffering: int = -1) -> TextIO:
    opened = open(number, mode, buffering, encoding=stream.encoding, errors=stream.errors, closefd=False)  # noqa: SIM115
    return cast("TextIO", opened)


def _end_with(client: socket.socket) -> None:
    waiting = select.poll()
    waiting.register(client, select.POLLRDHUP)
    waiting.poll()
    os.kill(os.getpid(), signal.SIGTERM)
