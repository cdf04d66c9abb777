"""Ours beside an engine that stays: one that was started as a service, and one that a run left behind (`spark: {keep: 10m}`)."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.contender import Job, ours
from bench.figures import Round
from bench.measuring import Failed
from bench.names import ENGINE, kept
from bench.ours import Ours, sentence
from bench.playing import WARM

PATIENCE = 60.0
"""Seconds until a kept engine has its fork server."""


class WithEngine(Ours):
    """Its engine belongs to a Dagster home, which all its jobs share. Time and memory of the engine and of its fork server count."""

    def __init__(self, name: str, home: Path) -> None:
        super().__init__(name)
        self._home = home
        self._pids: tuple[int, ...] = ()
        self._owner: Job | None = None

    def environment(self, job: Job) -> Mapping[str, str]:
        """One home for all jobs."""
        return super().environment(self._owner or job)

    def resident(self) -> Sequence[int]:
        """The servers."""
        return self._pids

    def _own(self, job: Job) -> None:
        """A job of nobody, in whose folder the home is."""
        shutil.rmtree(self._home, ignore_errors=True)
        self._owner = Job(self._home, job.source, job.tables)
        super().prepare(self._owner)

    def _remember(self, status: Mapping[str, Any]) -> None:
        self._pids = tuple(status[name] for name in ("pid", "fork_server") if status[name] is not None)

    def _engine(self, action: str) -> Mapping[str, Any]:
        assert self._owner is not None
        config = self._owner.folder / "sources.yaml"
        command = [ours("incremental-assets"), "engine", action, "--config", config, "--json"]
        environment = dict(self.environment(self._owner))
        done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
        try:
            document = json.loads(done.stdout)
        except ValueError:
            document = {}
        if done.returncode != 0:
            raise Failed(sentence(document.get("error") or done.stderr.strip().rpartition("\n")[2]))
        return document


class Engine(WithEngine):
    """The same command while `incremental-assets engine` runs, which it finds by itself."""

    warms = True
    spark = "remote: auto"

    def __init__(self, home: Path) -> None:
        super().__init__(ENGINE, home)

    def prepare(self, job: Job) -> None:
        """Raises Failed where there is no engine to start."""
        super().prepare(job)
        if not self._pids:
            self._own(job)
            self._engine("start")
            self._remember(self._engine("status"))

    def close(self) -> None:
        """Stopped as it was started."""
        if self._pids:
            self._engine("stop")
        self._pids = ()


class Kept(WithEngine):
    """The same command where each run uses the engine that an earlier one has left behind; what is timed comes after so many of them.

    With none before it, it is the run that starts the engine and leaves it behind.
    """

    spark = "keep: 10m"

    def __init__(self, home: Path, before: int) -> None:
        super().__init__(kept(before), home)
        self._before = before

    def prepare(self, job: Job) -> None:
        """Its configuration, and a home."""
        super().prepare(job)
        if self._owner is None:
            self._own(job)

    def run(self, job: Job) -> Round:
        """The runs before it load small tables, and are not timed; there was no engine when the first of them began. Raises Failed."""
        self.close()
        for number in range(self._before):
            self._run_before(job, number)
        if self._before:
            self._wait_for_forks()
        return super().run(job)

    def close(self) -> None:
        """No engine, as after ten minutes without a run."""
        if self._owner is not None:
            self._engine("stop")
        self._pids = ()

    def _run_before(self, job: Job, number: int) -> None:
        small = Job(self._home / f"before-{number}", job.source, WARM)
        shutil.rmtree(small.folder, ignore_errors=True)
        super().prepare(small)
        super().run(small)

    def _wait_for_forks(self) -> None:
        """It starts when the first run has ended; the next one is usually minutes away."""
        deadline = time.monotonic() + PATIENCE
        while (status := self._engine("status"))["fork_server"] is None:
            if time.monotonic() > deadline:
                raise Failed(f"the engine that a run left behind has no fork server after {PATIENCE:.0f} s")
            time.sleep(0.2)
        self._remember(status)
