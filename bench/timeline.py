"""Where the time of one command goes: `python -m bench.timeline sync …` is `incremental-assets sync …` with clocks around its parts.

Time counts for the part that was entered last and has not been left, so that the parts add up to the whole.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

BEGUN, SPANS = "BENCH_BEGUN", "BENCH_SPANS"
"""Variables: when the parent started the process, on the clock of this machine; and the file for the answer."""

PARTS = (
    ("incremental_assets.cli.commands.sync", "selected", "catalogue: which tables are there, and what has landed"),
    ("incremental_assets.cli.commands.sync", "look", "probe: has anything moved"),
    ("incremental_assets.cli.dagster_runs", "DagsterRuns.__init__", "Dagster: definitions"),
    ("incremental_assets.cli.dagster_runs", "DagsterRuns.sync", "Dagster: the run and its events"),
    ("incremental_assets.adapters.databases.probe", "SqlProbe.observe", "probe: bound and fingerprint"),
    ("incremental_assets.adapters.delta.lake", "DeltaLake.inspect", "lake: what is there"),
    ("incremental_assets.adapters.delta.staging.stage", "ParquetStage.write", "read: rows into the stage"),
    ("incremental_assets.adapters.delta.lake", "DeltaLake.apply", "apply: the commit"),
    ("incremental_assets.adapters.delta.lake", "DeltaLake.rows", "lake: rows of the copy"),
)
SESSIONS = (
    ("incremental_assets.adapters.spark.session", "open_session"),
    ("incremental_assets.adapters.spark.connect_client", "open_remote"),
)
SYNC = ("incremental_assets.core.syncing.sync_many", "load_and_sync")
"""One table's sync, of which the product tells the phases."""
SPARK_CALLS = {
    "readwriter": ("DataFrameReader.load", "DataFrameReader.parquet", "DataFrameReader.jdbc",
                   "DataFrameWriter.save", "DataFrameWriter.parquet"),
    "dataframe": ("DataFrame.first", "DataFrame.collect", "DataFrame.count"),
    "session": ("SparkSession.sql",),
}  # fmt: skip
"""What asks Spark for something, in a session of one's own and over Connect."""
PHASES = {
    "plan": "sync: lease, recovery, plan",
    "read": "read: around the stage",
    "apply": "apply: around the commit",
    "landed": "sync: recorded",
}


class Timeline:
    """Seconds by part, in the order in which they were first entered."""

    def __init__(self, begun: float) -> None:
        self._lock = threading.Lock()
        self._last = begun
        self._open: list[tuple[object, str]] = [(object(), "Python starts")]
        self.spans: dict[str, float] = {}

    def enter(self, part: str) -> object:
        """Gives what `leave` takes."""
        token = object()
        with self._lock:
            self._count()
            self._open.append((token, part))
        return token

    def leave(self, token: object) -> None:
        """In any order."""
        with self._lock:
            self._count()
            self._open = [each for each in self._open if each[0] is not token]

    def stop(self) -> None:
        """Count what is open."""
        with self._lock:
            self._count()

    @contextmanager
    def part(self, label: str) -> Iterator[None]:
        """As long as the block runs."""
        token = self.enter(label)
        try:
            yield
        finally:
            self.leave(token)

    def wrap(self, module: str, name: str, label: str) -> None:
        """Every call of it from now on."""
        owner: Any = importlib.import_module(module)
        *path, last = name.split(".")
        for step in path:
            owner = getattr(owner, step)
        setattr(owner, last, self._timed(getattr(owner, last), label))

    def wrap_spark(self) -> None:
        """Time every call that asks Spark for something, by the place where ours makes it; of the modules that a session has loaded."""
        for place in ("pyspark.sql", "pyspark.sql.classic", "pyspark.sql.connect"):
            for module, names in SPARK_CALLS.items():
                for name in names if f"{place}.{module}" in sys.modules else ():
                    owner, _, last = name.partition(".")
                    there = getattr(sys.modules[f"{place}.{module}"], owner, None)
                    if there is not None and last in vars(there):
                        setattr(there, last, self._asked(vars(there)[last], last))

    def _asked(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **words: Any) -> Any:
            with self.part(f"Spark: {name}, {_caller()}"):
                return function(*arguments, **words)

        return timed

    def _timed(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **words: Any) -> Any:
            with self.part(label):
                return function(*arguments, **words)

        return timed

    def _count(self) -> None:
        now = monotonic()
        label = self._open[-1][1] if self._open else "between the parts"
        self.spans[label] = self.spans.get(label, 0.0) + now - self._last
        self._last = now


def main() -> None:
    """The command, and its parts into the file."""
    timeline = Timeline(float(os.environ[BEGUN]))
    with timeline.part("imports: command line and configuration"):
        from incremental_assets.cli import main as cli

        importlib.import_module("incremental_assets.cli.commands.sync")
    with timeline.part("imports: Dagster"):
        importlib.import_module("incremental_assets.cli.dagster_runs")
    with timeline.part("imports: pyspark and the adapters"):
        for module in dict.fromkeys(module for module, *_ in (*PARTS, *SESSIONS)):
            importlib.import_module(module)
    for part in PARTS:
        timeline.wrap(*part)
    _follow_phases(timeline)
    _follow_sessions(timeline)
    token = timeline.enter("command: between its parts, and its end")
    try:
        cli.main()
    finally:
        timeline.leave(token)
        timeline.stop()
        Path(os.environ[SPANS]).write_text(json.dumps(timeline.spans), encoding="utf-8")


def _caller() -> str:
    """The innermost function of ours that is being run."""
    frame = sys._getframe(2)
    while frame.f_back is not None and "incremental_assets" not in frame.f_code.co_filename:
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).name}: {frame.f_code.co_name}"


def _follow_sessions(timeline: Timeline) -> None:
    """What a session brings is there once it is open, be it of this process or of the engine."""
    for module, name in SESSIONS:
        opened = getattr(importlib.import_module(module), name)

        @functools.wraps(opened)
        def then_followed(*arguments: Any, opened: Callable[..., Any] = opened, **words: Any) -> Any:
            with timeline.part("Spark: session"):
                found = opened(*arguments, **words)
            timeline.wrap_spark()
            return found

        # Whoever imported it by its name has it there.
        for user in [user for user in sys.modules.values() if getattr(user, name, None) is opened]:
            setattr(user, name, then_followed)


def _follow_phases(timeline: Timeline) -> None:
    """A sync tells its phases as it enters them; the last ends with the sync."""
    from incremental_assets.core.syncing import phases

    module, name = importlib.import_module(SYNC[0]), SYNC[1]
    enter, whole, open_phase = phases.Phases.enter, getattr(module, name), threading.local()

    def entered(self: Any, phase: str) -> None:
        leave()
        open_phase.token = timeline.enter(PHASES.get(phase, phase))
        enter(self, phase)

    def leave() -> None:
        if token := getattr(open_phase, "token", None):
            timeline.leave(token)
        open_phase.token = None

    def synced(*arguments: Any) -> Any:
        try:
            return whole(*arguments)
        finally:
            leave()

    phases.Phases.enter = entered  # type: ignore[method-assign]
    setattr(module, name, synced)


if __name__ == "__main__":
    sys.argv[0] = "incremental-assets"
    main()
