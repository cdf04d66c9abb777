"""The caller's side: hand the program over, pass signals on, and end as it ended."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from incremental_assets.adapters.fork_server.channel import COMMAND, Request, address, fingerprint, peer, private, send

_ALONE = frozenset({"engine", "dev", "demo", "metrics"})
"""Commands that start servers or are about the engine itself: nothing of theirs is ready."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
ACCEPTED, REFUSED, ENDED = "forked", "stale", "ended"


def run(arguments: Sequence[str], folder: Path) -> int | None:
    """The exit status of the command; None if no server in the folder can run it, and nothing has begun."""
    if not arguments or arguments[0] in _ALONE or arguments[0].startswith("-"):
        return None
    return handed_over(COMMAND, arguments, folder)


def handed_over(program: str, arguments: Sequence[str], folder: Path, inherited: Sequence[int] = ()) -> int | None:
    """The exit status of a program; None if no server in the folder can run it, and nothing has begun. `inherited`: files that it begins with beside the streams."""
    connection = connect(folder)
    if connection is None:
        return None
    with connection:
        return _handed_over(connection, program, arguments, inherited)


def connect(folder: Path) -> socket.socket | None:
    """A connection to this user's server in the folder; None if none answers there, and on other systems than Linux."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        opened = private(folder)
    except OSError:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(address(opened))
        # What follows holds passwords.
        if peer(connection)[1] == os.geteuid():
            return connection
    except OSError:
        pass
    finally:
        os.close(opened)
    connection.close()
    return None


def _handed_over(
    connection: socket.socket, program: str, arguments: Sequence[str], inherited: Sequence[int]
) -> int | None:
    umask = os.umask(0o077)
    os.umask(umask)
    try:
        here, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109
        request = Request(program, fingerprint(program), arguments, environment, here, sys.path, umask, inherited)
        with _streams() as streams:
            send(connection, request, streams)
        answers = connection.makefile(encoding="ascii")
        word, _, pid = answers.readline().partition(" ")
    except (OSError, UnicodeEncodeError):  # it has ended since; or an environment that is no text
        return None
    if word != ACCEPTED:
        return None
    with _passing_on(int(pid)):
        word, _, code = answers.readline().partition(" ")
    if word != ENDED:
        sys.stderr.write(
            f"the engine's fork server was killed, and how this {program} ends is not known here: see `status`\n"
        )
        return 1
    return int(code)


@contextmanager
def _streams() -> Iterator[list[int]]:
    """Standard input, output and error; for one that is closed, nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        yield [number if is_open(number) else nothing for number in range(3)]
    finally:
        os.close(nothing)


def is_open(number: int) -> bool:
    """Whether this process has an open file of that number."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@contextmanager
def _passing_on(pid: int) -> Iterator[None]:
    """A signal to this process is for the command. Should this process be killed, the command notices that itself."""

    def pass_on(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)

    def pause(_number: int, _: FrameType | None) -> None:
        pass_on(signal.SIGSTOP, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        pass_on(signal.SIGCONT, None)

    handlers = {**dict.fromkeys(_PASSED_ON, pass_on), signal.SIGTSTP: pause}
    # What the caller has made this process ignore, as `nohup` does, stays ignored.
    heard = {number: how for number, how in handlers.items() if signal.getsignal(number) != signal.SIG_IGN}
    before = {number: signal.signal(number, how) for number, how in heard.items()}
    try:
        yield
    finally:
        for number, how in before.items():
            signal.signal(number, how)
