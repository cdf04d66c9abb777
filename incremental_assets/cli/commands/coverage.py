"""`coverage`: what has landed by the checkpoint table, next to the partitions that Dagster shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import DONE, FAILED, Answer, Cell, Grid, Note, Shown, exit_code_of, worst
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.reports import bounds, number
from incremental_assets.cli.selection import remembered
from incremental_assets.core.checks.coverage import Coverage, coverage_of
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.cures import read_again
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.partition import WEEK_BEGINS_ON, has_weeks
from incremental_assets.core.words import agreeing, counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime

_MOST = 10
"""Partitions named for people; `--json` names them all."""


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        found = _coverages(runtime, patterns)
    return answer(found)


def answer(found: Sequence[Coverage]) -> Answer:
    """Every table that has windows; exit 1 if the two disagree about one of them, or something is missing."""
    grid = Grid(
        ("table", "covered", "gaps", "partitions", "not covered", "not announced"),
        tuple(_row(each) for each in found),
        right=frozenset({"gaps", "partitions", "not covered", "not announced"}),
        spare=("covered",),
    )
    notes = [note for each in found for note in _notes(each)]
    refused = [exit_code_of(each.refused) for each in found if each.refused]
    shown: tuple[Shown, ...] = (grid, *notes, _summary(found))
    is_good = all(each.agrees for each in found)
    return Answer({"tables": [_entry(each) for each in found]}, shown, worst([DONE if is_good else FAILED, *refused]))


def _summary(found: Sequence[Coverage]) -> Note:
    """A table without a watermark agrees, as nothing of it must be covered yet: it is not counted as covered."""
    good, begun = sum(each.agrees and each.is_begun for each in found), sum(each.is_begun for each in found)
    waiting = len(found) - begun
    rest = f"; {counted(waiting, 'table')} {agreeing(waiting, 'has', 'have')} no watermark, before a first sync or since a reset"
    tone = "strong" if all(each.agrees for each in found) else "bad"
    return Note(
        f"{good} of {counted(len(found), 'table')} {agreeing(len(found), 'is', 'are')} covered up to their watermark{rest if waiting else ''}",
        tone,
    )


def _coverages(runtime: Runtime, patterns: Sequence[str]) -> list[Coverage]:
    from incremental_assets.cli.dagster_runs import dagster_instance
    from incremental_assets.defs.translation import Translation, keys_of

    positions, found = runtime.checkpoints.positions(), []
    with dagster_instance() as instance:
        specs = remembered(runtime, patterns).specs
        keys = keys_of((spec.id for spec in specs), Translation.of_file(runtime.configuration))
        for spec in specs:
            grid = terms_of(runtime.configuration.source(spec.id.source), spec.id).partitions
            if grid is not None and spec.read_by is not None:
                state = positions[spec.id].state if spec.id in positions else None
                announced = instance.get_materialized_partitions(keys.of(spec.id))
                found.append(coverage_of(spec, grid, state, announced))
    return found


def _row(each: Coverage) -> tuple[Cell | str, ...]:
    def wrong(count: int, tone: str = "bad") -> Cell:
        return Cell(f"{count:,}", tone if count else "")

    return (
        str(each.table),
        ", ".join(map(str, each.covered)) or ("by another cursor" if each.refused else "nothing yet"),
        wrong(len(each.gaps)),
        number(len(each.announced)),
        wrong(len(each.not_covered)),
        wrong(len(each.not_announced), "warn"),
    )


def _notes(each: Coverage) -> list[Note]:
    if each.refused:
        return [Note(str(each.refused), "bad")]
    notes = []
    if has_weeks(each.grid):
        notes.append(
            Note(f"{each.table}: a week begins on {WEEK_BEGINS_ON}, and its partition is named after that day")
        )
    if each.gaps:
        cures = " and ".join(read_again(each.table, gap) for gap in each.gaps[:_MOST])
        summary = f"nothing has landed from {', '.join(map(str, each.gaps))}; read what is missing with {cures}"
        notes.append(Note(f"{each.table}: {summary}", "bad"))
    if each.not_covered:
        summary = "Dagster shows as materialized what has not been covered"
        notes.append(Note(f"{each.table}: {summary}: {_some(each.not_covered)}; materialize these partitions", "bad"))
    if each.not_announced:
        summary = "landed, but not reported to Dagster"
        notes.append(
            Note(
                f"{each.table}: {summary}: {_some(each.not_announced)}; the sensor's next look shows them, and so does materializing them",
                "warn",
            )
        )
    return notes


def _some(keys: Sequence[str]) -> str:
    return ", ".join(keys[:_MOST]) + (f" and {len(keys) - _MOST:,} more" if len(keys) > _MOST else "")


def _entry(each: Coverage) -> dict[str, Any]:
    return {
        "source": each.table.source,
        "table": render_table(each.table.schema, each.table.name),
        "agrees": each.agrees,
        "begun": each.is_begun,
        "error": str(each.refused) if each.refused else None,
        "covered": [bounds(window) for window in each.covered],
        "gaps": [bounds(window) for window in each.gaps],
        "week_begins_on": WEEK_BEGINS_ON if has_weeks(each.grid) else None,
        "partitions": list(each.announced),
        "not_covered": list(each.not_covered),
        "not_announced": list(each.not_announced),
    }
