"""Wraps every command: stdout is kept for the answer, an error is one sentence and an exit status, never a traceback."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from incremental_assets.adapters import tracebacks
from incremental_assets.cli.answer import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG,
    Answer,
    error_document,
    exit_code_of,
    quietened,
)
from incremental_assets.cli.ending import TERMINATED, Terminated, sentence
from incremental_assets.cli.lines import log_format, say, written_as
from incremental_assets.cli.options import QUIET
from incremental_assets.cli.shell import is_completing
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.observing.json_line import Level

if TYPE_CHECKING:
    from types import FrameType


def run(commands: click.Group, arguments: Sequence[str]) -> int:
    """Run one command and print its answer; returns the exit status."""
    if is_completing():
        # What click answers goes to stdout itself.
        return int(commands.main(args=list(arguments), prog_name="incremental-assets", standalone_mode=False) or DONE)
    as_json = "--json" in arguments
    with _terminable(), _stdout_kept() as out, written_as(log_format(arguments)):
        try:
            return _answered(commands, arguments, out, as_json=as_json)
        except BrokenPipeError:
            return _reader_gone(out)


def _answered(commands: click.Group, arguments: Sequence[str], out: TextIO, *, as_json: bool) -> int:
    """Raises BrokenPipeError where nobody reads the answer, or the sentence of an error, any more."""
    try:
        is_quiet = _is_quiet(arguments, as_json=as_json)
        # Without a command, click's help would be the message of an error.
        answer = commands.main(
            args=list(arguments) or ["--help"], prog_name="incremental-assets", standalone_mode=False
        )
        if is_quiet:
            answer = map(quietened, answer) if isinstance(answer, Iterator) else answer
            answer = quietened(answer) if isinstance(answer, Answer) else answer
        if isinstance(answer, Iterator):
            return _print_answers(answer, out, as_json=as_json)
        return _print_answer(answer, out, as_json=as_json) if isinstance(answer, Answer) else int(answer or DONE)
    except BaseException as error:  # noqa: BLE001 - the outermost handler; the error decides the exit status
        # Click makes an exit of what a command meets that writes into a closed pipe.
        if isinstance(error, BrokenPipeError) or (isinstance(error, SystemExit) and _is_closed(out, sys.stderr)):
            raise BrokenPipeError from None
        return _fail(error, out, as_json=as_json)


def _is_quiet(arguments: Sequence[str], *, as_json: bool) -> bool:
    if QUIET in arguments and as_json:
        raise click.UsageError(f"`--json` prints a document whatever happens, so that `{QUIET}` has no place beside it")
    return QUIET in arguments


def _print_answer(answer: Answer, out: TextIO, *, as_json: bool, indent: int | None = 2) -> int:
    if as_json:
        _print_document(answer.document, out, indent)
    else:
        from incremental_assets.cli.render import show

        show(answer, out)
    out.flush()
    return answer.exit_code


def _print_answers(answers: Iterator[Answer], out: TextIO, *, as_json: bool) -> int:
    """Each as it comes; a document is a line then, so that a reader knows where it ends."""
    code = DONE
    try:
        for answer in answers:
            code = _print_answer(answer, out, as_json=as_json, indent=None)
    except BrokenPipeError:
        raise
    except BaseException as error:  # noqa: BLE001 - what ends them is a document of theirs
        return _fail(error, out, as_json=as_json, indent=None)
    return code


def _fail(error: BaseException, out: TextIO, *, as_json: bool, indent: int | None = 2) -> int:
    message, code = _message_and_code(error)
    say(message, Level.ERROR)
    if as_json:
        document = error_document(error, code)
        document["error"]["message"] = message
        _print_document(document, out, indent)
    return code


def _message_and_code(error: BaseException) -> tuple[str, int]:
    """The sentence for people, and the exit status."""
    match error:
        case IncrementalAssetsError():
            return str(error), exit_code_of(error)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "incremental-assets"
            return f"{_usage(error)} (see `{path} --help`)", WRONG
        case click.ClickException():
            return error.format_message(), WRONG
        case click.Abort() | KeyboardInterrupt():
            return sentence(INTERRUPTED), INTERRUPTED
        case Terminated():
            return sentence(TERMINATED), TERMINATED
    return (
        f"unexpected {type(error).__name__}, which is a bug in this program; its traceback is in {tracebacks.kept(error)}",
        FAILED,
    )


def _usage(error: click.UsageError) -> str:
    """Click's words in one line; tables are what people write where no argument belongs."""
    words = " ".join(error.format_message().split())
    selects = error.ctx is not None and any(each.name == "select" for each in error.ctx.command.params)
    if selects and "unexpected extra argument" in words:
        return f"{words}: name tables by --select source.schema.table"
    return words


def _print_document(document: Any, out: TextIO, indent: int | None = 2) -> None:
    out.write(json.dumps(document, ensure_ascii=False, indent=indent) + "\n")
    out.flush()


def _is_closed(*streams: TextIO) -> bool:
    """Whether one of them is a pipe that nobody reads any more."""
    poll = select.poll()
    for stream in streams:
        poll.register(stream.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _reader_gone(out: TextIO) -> int:
    """`| head` has seen enough, of `2>&1` as well. What is left in the buffers would raise once more wherever they are flushed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (out, sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    return FAILED


@contextmanager
def _stdout_kept() -> Iterator[TextIO]:
    """The real stdout, while everything else that prints there, a JVM included, is led to stderr."""
    out = sys.stdout
    try:
        number = out.fileno()
    except (OSError, ValueError):  # a test's own stream
        yield out
        return
    out.flush()
    kept = os.dup(number)
    with os.fdopen(kept, "w", encoding="utf-8", errors="backslashreplace") as mine:
        os.dup2(sys.stderr.fileno(), number)
        try:
            yield mine
        finally:
            out.flush()
            mine.flush()
            os.dup2(kept, number)


@contextmanager
def _terminable() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
