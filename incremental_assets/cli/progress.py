"""Progress: a line per table on a terminal, nothing in a pipe."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from incremental_assets.cli.lines import is_json, line
from incremental_assets.cli.render import console_for
from incremental_assets.cli.streams import own_stderr
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.observers import Observer
from incremental_assets.core.observing.occurrences import CheckBegun, LoadWentOn, Occurrence, PhaseBegun, SyncEnded
from incremental_assets.core.planning.report import Status, SyncReport

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SESSIONS = "incremental_assets.adapters.spark.session_provider"
"""The logger of the room where sessions are opened; named, as importing it would take the time of a sync in which nothing moved."""
_PHASES = {"plan": "looking", "read": "reading", "apply": "writing"}


class ProgressDisplay(Observer):
    """The current work of every table. Without a terminal it shows no tables."""

    def __init__(self, stream: TextIO, progress: Progress | None = None) -> None:
        self._stream, self._progress = stream, progress
        self._step: TaskID | None = None
        self._lines: dict[TableId, TaskID] = {}
        self._lock = threading.Lock()

    def notify(self, occurrence: Occurrence) -> None:
        """A table enters a phase of its sync, or has ended: its report says that it has landed."""
        match occurrence:
            case PhaseBegun(table, _, phase) if phase != "landed":
                self._update(table, _PHASES.get(phase, phase))
            case LoadWentOn(table):
                self._update(table, occurrence.said)
            case CheckBegun(table, check):
                self._update(table, check)
            case SyncEnded(report):
                self._ended(report)

    def begin(self, tables: Iterable[TableId]) -> None:
        """These are waiting."""
        for table in tables:
            self._update(table, "waiting")

    def show(self, table: TableId, state: str) -> None:
        """Work on a table other than its sync."""
        self._update(table, state)

    def _ended(self, report: SyncReport) -> None:
        rows = report.rows
        state = {
            Status.LANDED: f"{rows.inserted:,} inserted, {rows.updated:,} updated",
            Status.IDLE: report.reason,
        }.get(report.status, str(report.status))
        self._update(report.table, state, ended=True)

    def say(self, sentence: str) -> None:
        """A line that stays: above the tables, or on stderr if there is no terminal."""
        if self._progress is not None:
            self._progress.console.print(sentence)
        else:
            self._stream.write(line(sentence))
            self._stream.flush()

    def step(self, sentence: str) -> None:
        """The work as a whole, above the tables; nothing for an empty sentence."""
        if self._progress is None:
            return
        if self._step is not None:
            self._progress.remove_task(self._step)
        self._step = self._progress.add_task(sentence, total=None, state="") if sentence else None

    def clear(self) -> None:
        """Away with the tables, before the next round of them."""
        with self._lock:
            for line in self._lines.values():
                if self._progress is not None:
                    self._progress.remove_task(line)
            self._lines.clear()

    def _update(self, table: TableId, state: str, *, ended: bool = False) -> None:
        if self._progress is None:
            return
        with self._lock:
            if table not in self._lines:
                self._lines[table] = self._progress.add_task(str(table), total=1, state=state)
            self._progress.update(self._lines[table], state=state, completed=1 if ended else 0)


class LinesDisplay(ProgressDisplay):
    """A line for each thing that happens, for collectors of logs."""

    def __init__(self, stream: TextIO) -> None:
        from incremental_assets.adapters.telemetry.log_lines import LogLines

        super().__init__(stream)
        self._lines_of = LogLines(stream)

    def notify(self, occurrence: Occurrence) -> None:
        """All kinds, as an exporter hears them."""
        self._lines_of.notify(occurrence)


@contextmanager
def progress_display() -> Iterator[ProgressDisplay]:
    """A display on stderr for as long as the block lasts; its tables leave nothing behind."""
    if is_json():
        with own_stderr() as stream:
            yield LinesDisplay(stream)
        return
    with _drawn() as drawn, _session_warnings(drawn):
        yield drawn


@contextmanager
def _session_warnings(display: ProgressDisplay) -> Iterator[None]:
    """Warnings about the session of a run: no engine, or no longer."""
    log, handler = logging.getLogger(_SESSIONS), _Says(display)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


class _Says(logging.Handler):
    def __init__(self, display: ProgressDisplay) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        """One line that stays."""
        self._display.say(record.getMessage())


@contextmanager
def _drawn() -> Iterator[ProgressDisplay]:
    with own_stderr() as stream:
        if not stream.isatty():
            yield ProgressDisplay(stream)
            return
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[state]}", style="dim", markup=False),
            TimeElapsedColumn(),
        )
        # Output of other libraries stays where they print it: it must not pass through here.
        with Progress(
            *columns, console=console_for(stream), transient=True, redirect_stdout=False, redirect_stderr=False
        ) as progress:
            yield ProgressDisplay(stream, progress)
