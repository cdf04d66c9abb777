"""`prune`: remove now what `retention` lets go, as the job of Dagster does daily."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incremental_assets.cli.answer import BUSY, FAILED, Answer, Cell, Grid, Note, worst
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.selection import Selection, selected, with_problems
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.maintenance.prune import prune_all
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.retention import NotPruned, Pruned, Retention
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import byte_size, counted

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        found = selected(runtime, patterns)
        done = _pruned(runtime, found, str(uuid.uuid4()))
        kept = runtime.configuration.ledger
        events = None if kept is None or patterns else runtime.checkpoints.prune_events(kept)
        logs = None if patterns else _logs(runtime)
    return with_problems(_answer(done, events, logs), found)


def _logs(runtime: Runtime) -> tuple[int, int] | None:
    """Of how many runs what they had printed was removed, and how many tracebacks."""
    kept = runtime.configuration.logs
    if kept is None:
        return None
    from incremental_assets.cli.dagster_runs import dagster_instance
    from incremental_assets.defs.run_logs import remove_older

    with dagster_instance() as instance:
        return remove_older(instance, kept), runtime.remove_tracebacks(kept)


def _pruned(runtime: Runtime, found: Selection, run_id: str) -> list[Pruned | NotPruned]:
    def kept(table: TableId) -> Retention:
        return terms_of(runtime.configuration.source(table.source), table).retention

    done: list[Pruned | NotPruned] = []
    for source in runtime.configuration.sources:
        if specs := found.of(source.name):
            done += prune_all(specs, kept, run_id, runtime.ports(source.name))
    return done


def _answer(
    done: Sequence[Pruned | NotPruned], events: tuple[int, int] | None, logs: tuple[int, int] | None = None
) -> Answer:
    pruned = [each for each in done if isinstance(each, Pruned)]
    others = [each for each in done if isinstance(each, NotPruned)]
    columns = ("table", "files", "bytes", "versions", "quarantined")
    grid = Grid(columns, tuple(map(_row, done)), right=frozenset(columns[1:]))
    notes = [Note(sentence, "warn") for each in pruned for sentence in each.left]
    notes += [Note(each.error, "warn" if each.is_busy else "bad") for each in others]
    files, size = sum(each.files for each in pruned), sum(each.bytes for each in pruned)
    said = (
        f"{counted(files, 'file')} removed, {byte_size(size)}"
        if done
        else "no table has a `retention`: nothing was removed"
    )
    versions, quarantined = sum(each.versions for each in pruned), sum(each.quarantined for each in pruned)
    said += f"; {counted(versions + quarantined, 'row')} of histories and quarantines" if versions + quarantined else ""
    document = {"tables": [_entry(each) for each in done], "files": files, "bytes": size}
    document |= {"versions": versions, "quarantined": quarantined}
    if events is not None:
        removed, reduced = events
        document |= {"events_removed": removed, "events_counted": reduced}
        notes.append(
            Note(f"ledger: {counted(removed, 'event')} removed, {reduced:,} are only counted from now on", "dim")
        )
    if logs is not None:
        runs, tracebacks = logs
        document |= {"run_logs_removed": runs, "tracebacks_removed": tracebacks}
        said_of = f"logs: of {counted(runs, 'run')} what was printed is removed, and {counted(tracebacks, 'traceback')}"
        notes.append(Note(said_of, "dim"))
    codes = [BUSY if each.is_busy else FAILED for each in others]
    return Answer(document, (*((grid,) if done else ()), *notes, Note(said, "strong")), worst(codes))


def _row(each: Pruned | NotPruned) -> tuple[Cell | str, ...]:
    if isinstance(each, NotPruned):
        return str(each.table), Cell("left", "warn"), "", "", ""
    return str(each.table), f"{each.files:,}", byte_size(each.bytes), f"{each.versions:,}", f"{each.quarantined:,}"


def _entry(each: Pruned | NotPruned) -> dict[str, Any]:
    named = {"source": each.table.source, "table": render_table(each.table.schema, each.table.name)}
    if isinstance(each, NotPruned):
        return {**named, **_counts(Pruned(each.table)), "error": each.error}
    return {**named, **_counts(each), "error": None}


def _counts(done: Pruned) -> dict[str, Any]:
    counts = {"files": done.files, "bytes": done.bytes, "versions": done.versions, "quarantined": done.quarantined}
    return {**counts, "left": list(done.left)}
