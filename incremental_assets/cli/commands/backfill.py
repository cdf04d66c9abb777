"""`backfill`: reads windows of one table again, in runs of a few partitions each; run it again to resume."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from incremental_assets.cli import reports
from incremental_assets.cli.answer import Answer, Cell, Note
from incremental_assets.cli.answer import Grid as Shown
from incremental_assets.cli.globs import the_one
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.progress import ProgressDisplay, progress_display
from incremental_assets.cli.selection import selected
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.config.settings import Configuration, SourceConfig
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.duration import parse_duration
from incremental_assets.core.model.number_keys import IntegerGrid, is_open
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.partition import Grid, parts, touched, touched_of
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.words import counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Options:
    """The options besides the table."""

    lower: str
    upper: str | None
    windows_per_run: int | None
    connections: int | None
    pause: timedelta | None
    again: bool

    @classmethod
    def of(cls, *, pause: str | None, **options: object) -> Self:
        """The options, with `pause` as a duration. Raises SelectionError where it is none."""
        try:
            return cls(pause=None if pause is None else parse_duration(pause), **options)  # type: ignore[arg-type]
        except ValueError as error:
            raise SelectionError(f"--pause {pause!r}: {error}") from None


def run(config: Path | None, patterns: Sequence[str], options: Options) -> Answer:
    """Run the command."""
    begun = time.monotonic()
    with (
        opened(_gentle(configured(config), options)) as runtime,
        progress_display() as display,
        runtime.observer.joined_by(display),
    ):
        found = selected(runtime, patterns)
        table = the_one(patterns, [*(spec.id for spec in found.specs), *(trouble.table for trouble in found.troubles)])
        for trouble in found.troubles:
            if trouble.table == table:
                raise trouble.error
        (spec,) = (spec for spec in found.specs if spec.id == table)
        done, skipped = _read(runtime, spec, options, display)
    return _answer(spec, done, skipped, time.monotonic() - begun)


def _gentle(configuration: Configuration, options: Options) -> Configuration:
    """The configuration with the options of the command line for backfills."""
    asked = {"windows": options.windows_per_run, "connections": options.connections, "pause": options.pause}
    said: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    changed = (replace(source, backfill=replace(source.backfill, **said)) for source in configuration.sources)
    return replace(configuration, sources=tuple(changed))


def _read(
    runtime: Runtime, spec: TableSpec, options: Options, display: ProgressDisplay
) -> tuple[list[SyncReport], int]:
    """A report per run, up to the first that does not land; and how many partitions had landed before."""
    from incremental_assets.cli.dagster_runs import DagsterRuns

    runs = DagsterRuns(runtime, spec.id.source)
    keys, window = _keys(runtime, spec, options, runs.offered(spec.id))
    name = f"{spec.id} {window}"
    landed = frozenset() if options.again else runs.landed(spec.id, name, keys)
    display.begin([spec.id])
    done: list[SyncReport] = []
    source = runtime.configuration.source(spec.id.source)
    _, grid = _windowed(source, spec)
    for part in parts(grid, [key for key in keys if key not in landed], source.backfill.windows):
        if done and source.backfill.pause:
            display.show(spec.id, "resting")
            rest(source.backfill.pause)
        report = runs.read_again(spec, part, Request(str(uuid.uuid4()), Mode.BACKFILL), name)
        done.append(report)
        display.say(f"{spec.id} {part[0]} to {part[-1]}: {report.status}, {counted(report.rows.read, 'row')} read")
        if report.status not in (Status.LANDED, Status.IDLE):
            break
    return done, len(landed)


def rest(pause: timedelta) -> None:
    """Leave the source in peace for a while."""
    time.sleep(pause.total_seconds())


def _keys(
    runtime: Runtime, spec: TableSpec, options: Options, offered: Sequence[str]
) -> tuple[tuple[str, ...], Window]:
    """The partitions that share a value with the selected range, ascending; of those that Dagster was offered where they have open ends."""
    kind, grid = _windowed(runtime.configuration.source(spec.id.source), spec)
    window = _window(kind, options)
    try:
        until = _until(runtime, spec, grid)
        keys = touched_of(grid, offered, window, until) if is_open(offered) else touched(grid, window, until)
    except ValueError as error:
        raise SelectionError(f"{spec.id}: {error}") from None
    if not keys:
        raise SelectionError(
            f"{spec.id}: {window} holds no partition of its grid; the grid begins with `partitions` in the configuration and ends now"
        )
    return keys, window


def _windowed(source: SourceConfig, spec: TableSpec) -> tuple[CursorType, Grid]:
    """Its cursor's type and its grid. Raises SelectionError if it has none."""
    grid = terms_of(source, spec.id).partitions
    if spec.read_by is None or grid is None:
        raise SelectionError(
            f"{spec.id}: this table is {capture_of(spec).words} and has no windows; read it again with {full_refresh(spec)}"
        )
    return spec.read_by.type, grid


def _window(kind: CursorType, options: Options) -> Window:
    try:
        lower = CursorValue.parse(kind, options.lower)
        upper = None if options.upper is None else CursorValue.parse(kind, options.upper)
        return Window(lower, upper)
    except ValueError as error:
        raise SelectionError(f"--from, --to: {error}") from None


def _until(runtime: Runtime, spec: TableSpec, grid: Grid) -> datetime | int:
    """The end of the grid: the time now, or the highest number that the source shows."""
    if not isinstance(grid, IntegerGrid):
        return datetime.now(UTC)
    (seen,) = runtime.probe(spec.id.source).observe([ObserveRequest(spec, None)])
    if seen.highest is None:
        raise SelectionError(f"{spec.id}: the source's table is empty")
    return int(seen.highest.text)


def _nothing_left(spec: TableSpec, summary: str) -> SyncReport:
    return SyncReport(spec.id, str(uuid.uuid4()), spec.strategy, Mode.BACKFILL, Status.IDLE, reason=summary)


def _answer(spec: TableSpec, done: Sequence[SyncReport], skipped: int, seconds: float) -> Answer:
    rows = sum(report.rows.read for report in done)
    summary = (
        f"{spec.id}: {counted(rows, 'row')} read in {counted(len(done), 'run')}"
        if done
        else f"{spec.id}: nothing left to read"
    )
    if skipped:
        summary += f", {counted(skipped, 'partition')} had landed in an earlier call (--again reads them too)"
    if not done:
        # The document names the table all the same, and says why nothing was read.
        done = [_nothing_left(spec, summary)]
    whole = reports.answer(done[0].run_id, done, summary, seconds)
    grid = Shown(
        ("window", "status", "read", "inserted", "updated", "unchanged", "seconds"),
        tuple(
            (
                str(report.window or ""),
                Cell(str(report.status), {Status.LANDED: "good", Status.IDLE: "dim"}.get(report.status, "bad")),
                *(
                    reports.number(value)
                    for value in (report.rows.read, report.rows.inserted, report.rows.updated, report.rows.unchanged)
                ),
                f"{report.seconds:.1f}",
            )
            for report in done
        ),
        right=frozenset({"read", "inserted", "updated", "unchanged", "seconds"}),
    )
    notes = [part for part in whole.shown if isinstance(part, Note)]
    return replace(whole, shown=(grid, *notes))
