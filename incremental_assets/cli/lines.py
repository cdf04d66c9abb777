"""Lines on stderr: sentences for people, or a JSON object each (`--log-format json`), as collectors of logs read them."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TextIO

from incremental_assets.cli.streams import own_stderr
from incremental_assets.core.observing.json_line import Level, json_line

LOG_FORMAT = "--log-format"
TEXT, JSON = "text", "json"
_OURS = "incremental_assets"
_chosen = TEXT


def log_format(arguments: Sequence[str]) -> str:
    """What a command line asks for; whether it is one of the formats, click says."""
    given = TEXT
    for index, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == LOG_FORMAT:
            given = value if equals else next(iter(arguments[index + 1 :]), TEXT)
    return given


@contextmanager
def written_as(chosen: str) -> Iterator[None]:
    """The format of all lines of this process while the block lasts; in JSON, what our own loggers say has it too."""
    global _chosen  # noqa: PLW0603 - of the process, as stderr is: a thread that hears signals writes there too
    before, _chosen = _chosen, chosen
    try:
        with _our_loggers() if chosen == JSON else nullcontext():
            yield
    finally:
        _chosen = before


@contextmanager
def _our_loggers() -> Iterator[None]:
    """A run leads stderr to Dagster, and what is said in it belongs here too."""
    log = logging.getLogger(_OURS)
    with own_stderr() as stderr:
        handler = _Lines(stderr)
        log.addHandler(handler)
        log.propagate = False
        try:
            yield
        finally:
            log.propagate = True
            log.removeHandler(handler)


def is_json() -> bool:
    """Whether a machine reads what stands on stderr."""
    return _chosen == JSON


def line(message: str, level: Level = Level.INFO) -> str:
    """With its end."""
    if not is_json():
        return f"{message}\n"
    return json_line(level, "message", message, {}) + "\n"


def say(message: str, level: Level = Level.INFO) -> None:
    """Write it at once."""
    sys.stderr.write(line(message, level))
    sys.stderr.flush()


class _Lines(logging.StreamHandler[TextIO]):
    def format(self, record: logging.LogRecord) -> str:
        """What a logger of ours says."""
        level = Level.ERROR if record.levelno >= logging.ERROR else Level.WARNING
        return line(record.getMessage(), level).rstrip("\n")
