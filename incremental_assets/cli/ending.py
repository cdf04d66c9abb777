"""Ctrl-C and SIGTERM during a command: a message at once, work is cancelled, and the process ends within seconds.

Python runs a signal's handler in the main thread, between two steps of it, and Dagster puts handlers of its own in the place of ours. So
a thread hears of signals as well, from the operating system, whatever the main thread waits for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO

from incremental_assets.cli.answer import INTERRUPTED
from incremental_assets.cli.lines import line
from incremental_assets.cli.streams import own_stderr
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.observing.json_line import Level

TERMINATED = 143
_ENDS_WITHIN = 4.5
"""Seconds after which the process exits wherever it is. It leaves what a killed one leaves, and the next run finds that."""
_CODES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}
_WORDS = {INTERRUPTED: "interrupted", TERMINATED: "terminated"}


class Terminated(BaseException):
    """SIGTERM: like Ctrl-C, so that leases are let go and children end."""


def sentence(code: int) -> str:
    """How a command that was ended says so."""
    return f"{_WORDS[code]}; what had landed stays landed, the next call resumes from there"


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Wraps all that a command does with sources and lake. After a signal it raises KeyboardInterrupt or Terminated, whatever the block raised."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with own_stderr() as stderr:
        ending = _Ending(stderr)
        try:
            with ending.listening():
                yield
        finally:
            ending.done()
        ending.raise_if_signalled()


class _Ending:
    """The signals that a command has received."""

    def __init__(self, stderr: TextIO) -> None:
        self._stderr, self._code = stderr, 0
        self._deadline = threading.Timer(_ENDS_WITHIN, self._now)
        self._deadline.daemon = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A thread hears every signal that Python has a handler for."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        thread = threading.Thread(target=self._listen, args=(reader,), name="signals", daemon=True)
        thread.start()
        try:
            yield
        except BaseException:
            self.raise_if_signalled()
            raise
        finally:
            signal.set_wakeup_fd(before)
            os.write(writer, b"\0")
            thread.join()
            os.close(writer)
            os.close(reader)

    def raise_if_signalled(self) -> None:
        """Raises the meaning of the signal, if there was one: a handler of Dagster's, or cancelled work, may have raised anything."""
        if self._code == TERMINATED:
            raise Terminated from None
        if self._code == INTERRUPTED:
            raise KeyboardInterrupt from None

    def done(self) -> None:
        """The command is out of all that it was in."""
        self._deadline.cancel()
        if self._code:
            _end_jvm()
        this_process.reset()

    def _listen(self, reader: int) -> None:
        while number := os.read(reader, 1)[0]:
            code = _CODES.get(signal.Signals(number), 0)
            if code and self._code:
                self._now()
            elif code:
                self._code = code
                self._say(f"{_WORDS[code]}: what has landed stays, the rest is being cancelled")
                this_process.ask_for_good()
                self._deadline.start()

    def _now(self) -> NoReturn:
        self._say(sentence(self._code))
        _end_jvm()
        os._exit(self._code)

    def _say(self, words: str) -> None:
        below_the_tables = "\n" if self._stderr.isatty() else ""
        self._stderr.write(f"{below_the_tables}{line(words, Level.WARNING)}")
        self._stderr.flush()


def _end_jvm() -> None:
    """Stop the JVM; without an import of Spark there is none."""
    if "pyspark" in sys.modules:
        from incremental_assets.adapters.spark import jvm

        jvm.end()
