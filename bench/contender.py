"""Who takes part: what each is given, how it is run and measured, and where its copy then lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.environments import CONTENDERS, Environments
from bench.figures import Round
from bench.measuring import Cost, Failed, Watch, last_words, timed
from bench.source import Source, Table
from bench.verifying import Copy


@dataclass(frozen=True)
class Job:
    """A folder of the contender's own, and the tables of the source."""

    folder: Path
    source: Source
    tables: tuple[Table, ...]

    @property
    def lake(self) -> Path:
        """Where its copies go."""
        return self.folder / "lake"


class Contender(ABC):
    """One way to bring tables into files. `room` names its folder: two contenders that share it work on the same copies."""

    warms = False
    """It has a process that stays, which has to have done such work before it is timed."""
    is_warm = False
    """It has."""
    shared = False
    """Several workloads play it, and whoever made it ends it."""
    verifiable = True

    def __init__(self, name: str, *, room: str = "") -> None:
        self.name = name
        self.room = room or "".join(letter if letter.isalnum() else "-" for letter in name)

    def prepare(self, job: Job) -> None:  # noqa: B027 - most need nothing
        """What is done once for a folder, and not timed."""

    def load(self, job: Job) -> None:
        """The first copy, where later ones are what is timed."""
        self.run(job)

    @abstractmethod
    def run(self, job: Job) -> Round:
        """Bring the copies up to date, measured. Raises Failed."""

    @abstractmethod
    def copy_of(self, job: Job, table: Table) -> Copy:
        """Where the copy lies."""

    def close(self) -> None:  # noqa: B027 - most leave nothing
        """End what stays."""


class Process(Contender):
    """A command that is run to its end. Its last line of output is JSON, with `seconds` of its own work if it tells them."""

    @abstractmethod
    def command(self, job: Job) -> Sequence[str | Path]:
        """What is run."""

    def environment(self, job: Job) -> Mapping[str, str]:
        """What it finds in its environment."""
        return {**os.environ, "SOURCE_URL": job.source.url}

    def said(self, job: Job) -> str:
        """What it reads from its standard input."""
        return ""

    def resident(self) -> Sequence[int]:
        """Processes that work for it and stay."""
        return ()

    def run(self, job: Job) -> Round:
        """From the start of the process to its end."""
        before = files(job.lake)
        try:
            answer, cost = timed(
                self.command(job), self.environment(job), said=self.said(job), resident=self.resident()
            )
        except Failed as failed:
            self.inside(_document(failed.answer))  # which may know it better
            raise
        return _round(cost, self.inside(_document(answer)), new_bytes(before, job.lake))

    def inside(self, document: Mapping[str, Any]) -> float | None:
        """The seconds of its own work. Raises Failed where the document tells of a failure."""
        return document.get("seconds")


class Script(Process):
    """A script of `bench/contenders` in its own environment."""

    def __init__(self, name: str, environments: Environments, environment: str, script: str) -> None:
        super().__init__(name)
        self._environments, self._environment, self._script = environments, environment, script

    def prepare(self, job: Job) -> None:
        """The environment is there before the clock runs."""
        self._environments.python(self._environment)

    def command(self, job: Job) -> Sequence[str | Path]:
        """The script with its words."""
        return [self._environments.python(self._environment), CONTENDERS / self._script, *self.words(job)]

    def words(self, job: Job) -> Sequence[str | Path]:
        """On its command line."""
        return ()


class Session(Contender):
    """A script that stays and answers each line with a line of JSON: a request is what is timed."""

    warms = True

    def __init__(self, name: str, process: Process, request: str) -> None:
        super().__init__(name)
        self._process, self._request = process, request
        self._running: subprocess.Popen[str] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process

    def prepare(self, job: Job) -> None:
        """The script's own preparations."""
        self._process.prepare(job)

    def run(self, job: Job) -> Round:
        """One line there, one line back."""
        before, process = files(job.lake), self._started(job)
        with Watch(resident=[process.pid]) as watch:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(str(job.folder / self._request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise Failed(last_words("", self._errors.read().decode(errors="replace"), process.wait()))
        return _round(watch.cost(), self._process.inside(json.loads(line)), new_bytes(before, job.lake))

    def copy_of(self, job: Job, table: Table) -> Copy:
        """As the script leaves it."""
        return self._process.copy_of(job, table)

    def close(self) -> None:
        """The end of its input is the end of it."""
        if self._running is not None:
            self._running.communicate(timeout=60)
        self._running = None
        self._process.close()

    def _started(self, job: Job) -> subprocess.Popen[str]:
        if self._running is None:
            self._running = subprocess.Popen(
                list(map(str, self._process.command(job))), env=dict(self._process.environment(job)), text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            )  # fmt: skip
        return self._running


def ours(program: str) -> Path:
    """A program of this environment."""
    return Path(sys.executable).with_name(program)


def _document(answer: str) -> Mapping[str, Any]:
    """The JSON that a process ended with: a whole document, or its last line; nothing where it said neither."""
    for text in (answer, answer.strip().rpartition("\n")[2]):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        return found if isinstance(found, dict) else {}
    return {}


def files(lake: Path) -> dict[Path, tuple[int, int]]:
    """Of a lake: size and time of each."""
    states = ((path, path.stat()) for path in lake.rglob("*") if path.is_file())
    return {path: (state.st_size, state.st_mtime_ns) for path, state in states}


def new_bytes(before: Mapping[Path, tuple[int, int]], lake: Path) -> int:
    """Of files that are new or others since."""
    return sum(state[0] for path, state in files(lake).items() if before.get(path) != state)


def _round(cost: Cost, inside: float | None, lake: int) -> Round:
    return Round(cost.wall, inside, cost.cpu, cost.peak, cost.python, lake, cost.written)
