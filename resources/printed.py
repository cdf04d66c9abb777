"""Values that programs print, such as tokens that are valid for some minutes: asked for anew before they are old."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_PATIENCE_SECONDS = 30.0
_FRESH_SECONDS = 300.0
"""For which a value counts: the shortest-lived tokens of the clouds are valid three times as long."""
_LEFT_ALONE_SECONDS = 10.0
"""For which a program that has failed is not asked again: of twenty sources each would wait for one that hangs."""
_LONGEST = 65_536
"""Bytes that are printed: no password or token has as many."""
_known: dict[tuple[str, ...], tuple[float, str, str]] = {}
"""Until when what a program said counts, what it printed, and why there was nothing."""


def printed_by(command: Sequence[str]) -> str:
    """What the program prints, or printed a short while ago. LookupError says in half a sentence why there is nothing; neither what it printed nor its arguments are quoted."""
    asked = tuple(command)
    until, value, why = _known.get(asked, (0.0, "", ""))
    if time.monotonic() >= until:
        try:
            value, why, counts = _value(_run(asked)), "", _FRESH_SECONDS
        except LookupError as error:
            value, why, counts = "", str(error.args[0]), _LEFT_ALONE_SECONDS
        _known[asked] = time.monotonic() + counts, value, why
    if why:
        raise LookupError(why)
    return value


def _run(command: tuple[str, ...]) -> bytes:
    program = Path(command[0]).name
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except FileNotFoundError:
        raise LookupError(f"there is no program {program!r}; install it, or write its path") from None
    except OSError as error:
        raise LookupError(f"{program!r} cannot be run ({error.strerror}); check its permissions") from None
    try:
        printed, _ = process.communicate(timeout=_PATIENCE_SECONDS)
    except BaseException as error:
        # Whatever it has started, too: one that still holds the pipe would be waited for.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise LookupError(
            f"{program!r} has not ended within {_PATIENCE_SECONDS:.0f} seconds; run it by hand to see what it waits for"
        ) from None
    if process.returncode != 0:
        raise LookupError(f"{program!r} ended with status {process.returncode}; run it by hand to see why")
    return printed


def _value(printed: bytes) -> str:
    if len(printed) > _LONGEST:
        raise LookupError(f"the program printed more than {_LONGEST:,} bytes; let it print the value alone")
    try:
        value = printed.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise LookupError("what the program printed is not UTF-8 text; let it print the value alone") from None
    if not value:
        raise LookupError("the program printed nothing; let it print the value")
    return value
