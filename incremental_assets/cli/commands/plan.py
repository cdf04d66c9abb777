"""`plan`: what the next sync of every table is about to do. Nothing is written, no lease is taken, no Spark is started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import Answer
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.previews import answer
from incremental_assets.cli.selection import Selection, selected, with_problems
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cures import resume
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.retention import OldFiles
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.estimate import CANNOT_TELL, Estimate
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.preview.preview import Preview, preview

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config), writes=False) as runtime:
        found = selected(runtime, patterns)
        positions, pauses = runtime.checkpoints.positions(), runtime.checkpoints.pauses()
        previews = [
            _paused(each, pauses.of(each.spec.id))
            for source in runtime.configuration.sources
            for each in _of_source(runtime, source.name, found, positions)
        ]
    return with_problems(answer(previews, found.troubles), found)


def _of_source(
    runtime: Runtime, source: str, found: Selection, positions: Mapping[TableId, Checkpoint]
) -> tuple[Preview, ...]:
    """One look at all its tables, as a sensor has it, then the planner, then what the source says of each read."""
    specs = found.of(source)
    if not specs:
        return ()
    standing = [positions.get(spec.id, Checkpoint()) for spec in specs]
    probe, lake = runtime.probe(source), runtime.ports(source).reader
    try:
        looks = [ObserveRequest(spec, position.state) for spec, position in zip(specs, standing, strict=True)]
        observations = probe.observe(looks)
        previews = [
            preview(spec, position, seen, lake, runtime.checkpoints)
            for spec, position, seen in zip(specs, standing, observations, strict=True)
        ]
        estimates = iter(_estimates(runtime, source, [each.plan for each in previews if each.plan is not None]))
    except IncrementalAssetsError as error:
        return tuple(_stopped(spec, error) for spec in specs)
    told = (each if each.plan is None else each.with_estimate(next(estimates)) for each in previews)
    return tuple(replace(each, old=_old(runtime, source, each.spec)) for each in told)


def _old(runtime: Runtime, source: str, spec: TableSpec) -> tuple[OldFiles, ...]:
    """By the clock of this machine, as no file is put anywhere."""
    files = terms_of(runtime.configuration.source(source), spec.id).retention.files
    if files is None:
        return ()
    try:
        return runtime.ports(source).retention.old_files(spec, files, datetime.now(UTC))
    except IncrementalAssetsError as error:
        return (OldFiles(str(spec.id), left=str(error)),)


def _paused(found: Preview, pause: Pause | None) -> Preview:
    """What the next sync would do once the table is resumed, and that it is not before."""
    if pause is None:
        return found
    return replace(
        found, warnings=(*found.warnings, f"{pause.sentence}; nothing of it is synced before {resume(pause)}")
    )


def _estimates(runtime: Runtime, source: str, plans: Sequence[SyncPlan]) -> Sequence[Estimate]:
    """What a database says of each read; nothing else is asked."""
    database = runtime.database(source)
    return [CANNOT_TELL] * len(plans) if database is None else database.estimates(plans)


def _stopped(spec: TableSpec, error: IncrementalAssetsError) -> Preview:
    return Preview(spec, None, error)
