"""What a process and all that it starts cost: seconds on the wall and of a processor, memory, bytes. Looked at from outside, five times a second."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

INTERVAL = 0.2
"""A look takes 4 ms of a processor at one command with Spark, 12 ms at one with an engine and its forks: at five a second 2 and 6 % of one core."""
LOOKS_FOR_MEMORY = 3
"""Every third look asks for memory too, for which the system goes through every page of each process: 9 ms more, and 40 ms with an engine."""


class Failed(Exception):
    """A contender did not do its work; the message is the sentence that the document shows, `answer` what it had said."""

    def __init__(self, sentence: str, answer: str = "") -> None:
        super().__init__(sentence)
        self.answer = answer


@dataclass(frozen=True)
class Cost:
    """Of all looked-at processes together."""

    wall: float
    cpu: float
    peak: int
    python: int
    written: int
    java: int


@dataclass
class _Seen:
    cpu: float = 0.0
    written: int = 0


class Watch:
    """Looks while the block runs. What `resident` processes had spent before does not count; what they hold in memory does.

    Looking costs the process that does it: where that one is looked at as well, it does not count.
    """

    def __init__(self, *roots: int, resident: Sequence[int] = (), begun: float | None = None) -> None:
        self._begun = begun
        self._roots = [*roots, *resident]
        self._before: dict[psutil.Process, _Seen] = {}
        self._seen: dict[psutil.Process, _Seen] = {}
        self._peak = self._python = self._java = 0
        self._looking = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        for root in resident:
            self._before |= {process: _spent(process) for process in _tree(root)}

    def __enter__(self) -> Self:
        self._begun = time.perf_counter() if self._begun is None else self._begun
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall = time.perf_counter() - (self._begun or 0.0)
        self._over.set()
        self._thread.join()

    def cost(self, reaped: float = 0.0) -> Cost:
        """`reaped` is what the system says of a root that has ended: its last moments were seen by nobody."""
        none = _Seen()
        cpu = sum(seen.cpu - self._before.get(process, none).cpu for process, seen in self._seen.items())
        if psutil.Process() in self._seen:
            cpu = max(0.0, cpu - self._looking)
        written = sum(seen.written - self._before.get(process, none).written for process, seen in self._seen.items())
        return Cost(self.wall, max(cpu, reaped), self._peak, self._python, written, self._java)

    def _look_on(self) -> None:
        for look in itertools.count():
            self._look(memory=look % LOOKS_FOR_MEMORY == 0)
            if self._over.wait(INTERVAL):
                self._look(memory=True)
                self._looking = time.thread_time()
                return

    def _look(self, *, memory: bool) -> None:
        whole = python = java = 0
        for process in {process for root in self._roots for process in _tree(root)}:
            try:
                with process.oneshot():
                    self._seen[process] = _spent(process)
                    held = _held(process) if memory else 0
                    whole += held
                    python += held if "python" in process.name() or "incremental" in process.name() else 0
                    java += held if process.name() == "java" else 0
            except psutil.Error:
                continue
        self._peak, self._python = max(self._peak, whole), max(self._python, python)
        self._java = max(self._java, java)


def timed(
    command: Sequence[str | Path], environment: Mapping[str, str], *, said: str = "", resident: Sequence[int] = ()
) -> tuple[str, Cost]:
    """Run it to its end with `said` on its standard input; gives its standard output. Raises Failed with its last words."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        given.write(said.encode())
        given.seek(0)
        begun = time.perf_counter()
        process = subprocess.Popen(
            list(map(str, command)), env=dict(environment), stdin=given, stdout=out, stderr=err, start_new_session=True
        )
        try:
            with Watch(process.pid, resident=resident, begun=begun) as watch:
                _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        _end_session(process.pid)
        out.seek(0)
        err.seek(0)
        answer = out.read().decode(errors="replace")
        if process.returncode != 0:
            words = last_words(answer, err.read().decode(errors="replace"), process.returncode)
            raise Failed(words, answer)
    return answer, watch.cost(usage.ru_utime + usage.ru_stime)


def last_words(answer: str, errors: str, code: int) -> str:
    """The last line that a process left, which is where a tool's sentence and a traceback's error stand; without colours and addresses."""
    said = re.sub(r"\x1b\[[0-9;]*m", "", f"{answer}\n{errors}")
    lines = [line.strip() for line in said.splitlines() if line.strip() and not re.match(r"\s*(at |\.\.\. )", line)]
    reason = re.sub(r"https?://\S+", "an address", lines[-1]) if lines else "without a word"
    return f"exit {code}: {reason[:300]}"


def _end_session(leader: int) -> None:
    """A JVM may outlive its Python by a moment: the next contender does not begin beside it, and a stuck one does not stay."""
    left = [process for process in psutil.process_iter() if _session_of(process.pid) == leader]
    _, alive = psutil.wait_procs(left, timeout=20)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _tree(root: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(root)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


def _held(process: psutil.Process) -> int:
    """Of a page that several processes hold, as forks do, each has its share, so that their sum is what they hold together."""
    return int(process.memory_full_info().pss)


def _spent(process: psutil.Process) -> _Seen:
    times = process.cpu_times()
    return _Seen(times.user + times.system, process.io_counters().write_bytes)
