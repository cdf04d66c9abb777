"""Which process reads a log between ranges, as written beside the segments: where it answers, and which session of the source it has."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from incremental_assets.adapters.fork_server.channel import peer
from incremental_assets.adapters.new_file import new_file
from incremental_assets.adapters.permissions import own_file, own_folder, scratch_folder

_FILE, _WHY_NOT = "reader.json", "no_reader.txt"
_TRY_AGAIN_SECONDS = 600.0
STARTED, BUSY = b"started\n", b"busy\n"
"""What the process says at first, unless it says what is wrong. Busy: others have all places of the source at this moment."""
AVAILABLE = sys.platform.startswith("linux")
"""Elsewhere a socket does not say whose process is at its other end."""
_MOST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Record:
    """`terms`: what the session reads and how, as one text. `pid` and `started` name it in the source."""

    terms: str
    socket: str
    pid: int
    started: str

    def write(self, folder: Path) -> None:
        """Beside the segments of `folder`. Raises OSError."""
        path = own_folder(folder) / _FILE
        whole = path.with_name(f"{_FILE}-{Path(self.socket).stem}")
        with new_file(whole) as file:
            file.write(json.dumps(asdict(self)).encode())
        whole.replace(path)


def record_in(folder: Path) -> Record | None:
    """The one that is there. What cannot be read is as if it were not there: the slot says who reads it."""
    try:
        return Record(**json.loads((folder / _FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def forget(folder: Path) -> None:
    """Nobody reads the log any more."""
    with suppress(OSError):
        (folder / _FILE).unlink()


def say_why_not(folder: Path, why: str) -> None:
    """No process could be started."""
    with suppress(OSError):
        path = folder / _WHY_NOT
        own_file(path)
        path.write_text(why, encoding="utf-8")


def why_not(folder: Path) -> str:
    """Why no process could be started a short time ago; empty where none was tried, or it is worth another try."""
    path = folder / _WHY_NOT
    with suppress(OSError, ValueError):
        if 0 <= time.time() - path.stat().st_mtime < _TRY_AGAIN_SECONDS:
            return path.read_text(encoding="utf-8")
    return ""


def socket_path(token: str) -> Path:
    """Of a path that is short enough, in a folder of this user."""
    return scratch_folder() / f"log-{token}"


def connected(path: str, seconds: float) -> socket.socket | None:
    """To the process that answers there, if it is this user's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(path)
        if is_ours(connection):
            return connection
    except OSError:
        pass
    connection.close()
    return None


def is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end is of the same user."""
    return peer(connection)[1] == os.geteuid()


def send_line(connection: socket.socket, **said: Any) -> None:
    """A question or an answer."""
    connection.sendall(json.dumps(said).encode() + b"\n")


def read_line(connection: socket.socket) -> dict[str, Any] | None:
    """The next one; None where the other end has gone."""
    line = bytearray()
    while not line.endswith(b"\n"):
        octet = connection.recv(1)
        if not octet or len(line) > _MOST_BYTES:
            return None
        line += octet
    found: dict[str, Any] = json.loads(line)
    return found
