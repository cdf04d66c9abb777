"""What client and server have in common: the socket, who may use it, and when one may work for the other. Light: every command imports it."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "fork_server.sock"
COMMAND, WORKERS, RUN = "command", "daemon of workers", "run"
"""What a fork can be: a command, the daemon that forks Spark's Python workers, or the process of one of Dagster's runs."""
_READ_AT_IMPORT = ("PYTHON", "LC_", "LANG", "LD_", "DAGSTER_", "SPARK_", "GRPC_", "ARROW_", "OMP_", "OPENBLAS_", "TZ")
"""How names begin of variables that Python or a library reads once: a process that has read others answers for others."""
_OF_THE_FOLDER = "DAGSTER_HOME"
"""Not read at import, and the same for every caller that finds this server."""
_OF_A_RUN = frozenset({"DAGSTER_IS_DEV_CLI", "DAGSTER_verbose", "PYTHONSAFEPATH", "PYTHONUNBUFFERED"})
"""What `dev` and Dagster give to the server of a code location beside: a fork reads the first two when it needs them, and does itself what the others ask for."""
MOST_INHERITED = 64
_LENGTH = struct.Struct("!I")
_CREDENTIALS = struct.Struct("3i")
_PACKAGE = Path(__file__).resolve().parents[2]
# In a checkout the second is a link, which the walk over the first passes by.
_FOLDERS = (_PACKAGE, _PACKAGE / "resources")


@dataclass(frozen=True, slots=True)
class Request:
    """A program, as its caller would have run it."""

    program: str
    fingerprint: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    path: Sequence[str]
    """Python's `sys.path`."""
    umask: int
    inherited: Sequence[int] = ()
    """Numbers of the other open files that it begins with."""


def send(connection: socket.socket, request: Request, streams: Sequence[int]) -> None:
    """The request, and the streams and its other files with its first bytes."""
    body = json.dumps(asdict(request)).encode()
    socket.send_fds(connection, [_LENGTH.pack(len(body))], [*streams, *request.inherited])
    connection.sendall(body)


def receive(connection: socket.socket) -> tuple[Request, list[int]]:
    """The inverse of `send`: the request, and its files in that order. Raises OSError, ValueError, TypeError or struct.error for what is none; no file stays open then."""
    head, streams, _, _ = socket.recv_fds(connection, _LENGTH.size, 3 + MOST_INHERITED)
    try:
        # Only the client above writes there; any other has no three streams, or no length.
        (length,) = _LENGTH.unpack_from(head)
        request = Request(**json.loads(_exactly(connection, length)))
        # One for each number that it names, and no other.
        list(zip((0, 1, 2, *request.inherited), streams, strict=True))
    except BaseException:
        for stream in streams:
            os.close(stream)
        raise
    return request, streams


def _exactly(connection: socket.socket, size: int) -> bytes:
    body = b""
    while len(body) < size:
        more = connection.recv(size - len(body))
        if not more:
            raise ValueError("cut short")
        body += more
    return body


def peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end, as the operating system knows them."""
    pid, user, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, user


def address(folder: int) -> str:
    """The socket of an open folder: its own path may be longer than the 107 bytes that a socket's may have."""
    return f"/proc/self/fd/{folder}/{NAME}"


def private(folder: Path) -> int:
    """The folder, opened. Raises OSError if it is missing, not a folder, or not this user's alone."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    found = os.fstat(opened)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        os.close(opened)
        raise PermissionError(f"{folder} is not private")
    return opened


def fingerprint(program: str) -> str:
    """A text of all that a process cannot change once it runs, and of the program: where two are equal, one process does what the other would do.

    Spark starts the daemon of its workers with variables of its own, which the workers read when they are forked.
    """
    spaces = [str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in ("pid", "mnt", "net", "user")]
    ignored = {_OF_THE_FOLDER, *(_OF_A_RUN if program == RUN else ())}
    read = sorted(
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(_READ_AT_IMPORT) and name not in ignored and program != WORKERS
    )
    libraries = [Path(each).stat().st_mtime_ns for each in sys.path if each.endswith("site-packages")]
    return json.dumps([program, sys.prefix, sys.version, str(_PACKAGE), _newest(), libraries, spaces, read])


def _newest() -> int:
    """When the program was last changed, in nanoseconds."""
    newest, folders = 0, [str(each) for each in _FOLDERS]
    while folders:
        with os.scandir(folders.pop()) as found:
            for each in found:
                if each.is_dir(follow_symlinks=False):
                    folders.append(each.path)
                elif each.name.endswith((".py", ".yaml")):
                    newest = max(newest, each.stat().st_mtime_ns)
    return newest
