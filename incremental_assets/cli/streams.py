"""Keeps the terminal to the progress display during a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_STREAMS = (1, 2)


@contextmanager
def own_stderr() -> Iterator[TextIO]:
    """A stderr that stays the same when a run redirects the process's own one into its log, as Dagster's do."""
    try:
        number = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # a test's own stream
        yield sys.stderr
        return
    with os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace") as mine:
        yield mine


@contextmanager
def left_to_dagster() -> Iterator[None]:
    """Output of others, such as a JVM, is stored with the run in Dagster and mirrored nowhere."""
    kept = {number: os.dup(number) for number in _STREAMS}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in _STREAMS:
            os.dup2(nowhere, number)
        yield
    finally:
        for number, copy in kept.items():
            os.dup2(copy, number)
            os.close(copy)
        os.close(nowhere)
