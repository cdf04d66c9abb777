"""The fork server in this process: what it answers where it cannot fork."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from incremental_assets.adapters.fork_server.channel import COMMAND, Request, address, private, send
from incremental_assets.adapters.fork_server.client import REFUSED
from incremental_assets.adapters.fork_server.server import _Server

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no fork server elsewhere")


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_request_for_which_there_is_no_process_left_is_refused_and_the_server_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    tmp_path.chmod(0o700)
    folder = private(tmp_path)
    server = _Server(folder, ["mine"])
    monkeypatch.setattr(os, "fork", full)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.connect(address(folder))
        send(caller, Request(COMMAND, "mine", [], {}, "/", [], 0o022), [0, 1, 2])
        before = open_files()
        accepted = server.accept()
        assert (accepted, caller.recv(100)) == (None, f"{REFUSED} \n".encode())
        assert (open_files(), server.clients, server.is_there) == (before, {}, True)
    server.close()
    os.close(folder)


@pytest.mark.parametrize(("told", "ended"), [(0, 0), (3, 3), (137, -9), (143, -15), (130, -2), (128, 128), (255, 255)])
def test_who_waits_for_a_fork_ends_as_it_has_ended(told: int, ended: int) -> None:
    program = f"from incremental_assets.adapters.fork_server.runs import _end_as; _end_as({told})"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == ended
