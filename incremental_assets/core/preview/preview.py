"""What the next sync of a table is about to do, shown before it does: pure but for the lake's log, and decided by the sync's own planner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.database.fill_ranges import MOST_RANGES, MOST_ROWS
from incremental_assets.core.captures.database.loading import rows_of_range
from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.compaction import Layout
from incremental_assets.core.model.history import History
from incremental_assets.core.model.readers import Readers
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.retention import OldFiles
from incremental_assets.core.model.schema_drift import Difference, TargetColumn, check_columns, check_names, difference
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.plan import NothingToDo, Request, SyncPlan
from incremental_assets.core.planning.preflight import check_same_columns
from incremental_assets.core.planning.target import Target
from incremental_assets.core.ports import Checkpoints, LakeReader
from incremental_assets.core.preview.preview_terms import NO_TERMS, TermsShown, allowed, compared_again, terms_shown
from incremental_assets.core.syncing.decide import predicted
from incremental_assets.core.words import agreeing, counted


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """How the source's columns differ from the copy's, and what a sync makes of it."""

    found: Difference
    outcome: str
    renames: tuple[Rename, ...] = ()
    """Columns of the copy that have other names first."""


@dataclass(frozen=True, slots=True)
class FileStep:
    """The files of the copy as they are, and how many of them the commit may touch."""

    layout: Layout
    touched: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Preview:
    """One table. Without a decision it is `error` that the sync would stop at."""

    spec: TableSpec
    decision: SyncPlan | NothingToDo | None
    error: IncrementalAssetsError | None = None
    schema: SchemaStep | None = None
    files: FileStep | None = None
    terms: TermsShown = NO_TERMS
    """What deletes, contract and history of the table make of it."""
    destructive: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    estimate: Estimate | None = None
    """What the source says of the read, once it has been asked."""
    old: tuple[OldFiles, ...] = ()
    """What the next pruning removes, whatever the sync does."""

    @property
    def plan(self) -> SyncPlan | None:
        """What will be read; None where nothing is, or where the sync would stop."""
        return self.decision if isinstance(self.decision, SyncPlan) and self.error is None else None

    def with_estimate(self, estimate: Estimate) -> Preview:
        """The same, with what the source says."""
        if self.plan is not None and self.plan.reading.finds_differing:
            # What will be read nothing but the comparison tells: the number is that of the rows that are hashed.
            estimate = replace(estimate, sql="")
        return replace(self, estimate=estimate)


def preview(
    spec: TableSpec, position: Checkpoint, observation: Observation, lake: LakeReader, checkpoints: Checkpoints
) -> Preview:
    """What a plain sync would do now. What it would stop at is reported, not raised."""
    try:
        decision, target = predicted(spec, position, observation, lake, checkpoints)
    except IncrementalAssetsError as error:
        return Preview(spec, None, error, terms=terms_shown(spec))
    warnings = (
        *decision.warnings,
        *_left_open(position),
        *_loading(spec, position.state),
        *_left_to_fill(position.state),
    )
    if isinstance(decision, NothingToDo):
        later = _gone(spec, position.state)
        step = SchemaStep(Difference(), _renamed(decision.renames), decision.renames) if decision.renames else None
        return Preview(spec, decision, schema=step, terms=terms_shown(spec, later), warnings=warnings)
    spec = decision.spec
    columns = _columns(decision, lake) if target else ()
    found = difference(spec.columns, columns) if target else Difference()
    schema = SchemaStep(found, _outcome(decision, found, target), decision.renames)
    files = _files(decision, lake.layout(spec) if target else Layout((), 0, 0), target)
    destructive = _destructive(decision, found, files)
    if spec.history is not History.NONE:
        files = replace(files, outcome=f"{files.outcome}; then {spec.id.history} follows in a commit of its own")
    terms = terms_shown(spec, _deletes(decision))
    found_so = Preview(spec, decision, None, schema, files, terms, destructive, warnings)
    try:
        check_names(spec)
        check_same_columns(decision)
        check_columns(spec, found, overwrites=decision.overwrites)
    except IncrementalAssetsError as error:
        return replace(found_so, error=error, schema=replace(schema, outcome="the sync stops"), destructive=())
    return found_so


def _left_open(position: Checkpoint) -> tuple[str, ...]:
    """A note that the last run left an intent open, if it did. Whether it still runs is not asked: that would take its lease."""
    if position.open is None:
        return ()
    return (
        "a run is in progress, or was killed: the next one first looks in the lake whether that batch landed, and plans again",
    )


def _outcome(plan: SyncPlan, found: Difference, target: Target | None) -> str:
    if target is None:
        return f"the copy is made with {counted(len(plan.spec.source_columns), 'column')}"
    steps = [_renamed(plan.renames)] if plan.renames else []
    if found.added:
        there = "" if plan.overwrites else f"; {_of_older_rows(plan)}"
        steps.append(f"{_names(found.added)} {agreeing(len(found.added), 'is', 'are')} added to the copy{there}")
    if found.dropped:
        stays = "leaves the copy" if plan.overwrites else "stays in the copy, NULL in rows that land from now on"
        left_out = any(column.name in plan.spec.shape.left_out for column in found.dropped)
        steps.append(f"{_names(found.dropped)} {stays}{', as `columns` says' if left_out else ''}")
    if plan.spec.discarded:
        names = ", ".join(repr(name) for name in plan.spec.discarded)
        steps.append(f"{names} {agreeing(len(plan.spec.discarded), 'is', 'are')} new in the source and not read")
    if found.retyped and plan.overwrites:
        names = ", ".join(repr(each.name) for each in found.retyped)
        steps.append(f"{names} {agreeing(len(found.retyped), 'changes its type', 'change their types')}")
    elif found.retyped:
        steps += [f"{each.name!r} is widened in place from {each.was} to {each.now}" for each in found.retyped]
    return "; ".join(steps) or "as it landed"


def _columns(plan: SyncPlan, lake: LakeReader) -> tuple[TargetColumn, ...]:
    """The columns of the copy, as they are when the batch lands."""
    names = {each.before.lower(): each.after for each in plan.renames}
    return tuple(TargetColumn(names.get(name.lower(), name), kind) for name, kind in lake.columns(plan.spec))


def _renamed(renames: Sequence[Rename]) -> str:
    names = ", ".join(f"{each.before!r} to {each.after!r}" for each in renames)
    return f"renamed first: {names}; rows keep their values, and no file is written"


def _of_older_rows(plan: SyncPlan) -> str:
    if plan.spec.traits.keeps_versions:
        return "an append keeps each version as it was read, so that rows that landed before hold NULL there"
    if plan.reading.finds_differing:
        return "rows that landed before are compared, and read where the source has a value there"
    if not plan.spec.fills:
        return "rows that landed before hold NULL there"
    what = "whole rows" if plan.spec.contract or plan.spec.trusts_key else "key, cursor and these columns"
    return f"for rows that landed before, {what} are then read, at most {MOST_ROWS * MOST_RANGES:,} rows in a sync"


def _loading(spec: TableSpec, state: State | None) -> tuple[str, ...]:
    """A note on a first load that goes range by range, whether it has begun or not."""
    rows = rows_of_range(spec, Request(run_id=""), state)
    if rows is None:
        return ()
    begun = f"{state.position.unfinished}, " if state else "its first load goes "
    return (
        f"{begun}range by range of its key, about {rows:,} rows from one snapshot and in one commit, where the source reads them in the order in which they lie",
    )


def _left_to_fill(state: State | None) -> tuple[str, ...]:
    """A note on the range of new columns that no sync has read yet, if there is one."""
    left = state.unfilled if state else None
    if left is None:
        return ()
    names = ", ".join(left.columns)
    return (f"the values of new columns ({names}) are still to be read for rows that landed before, in {left.window}",)


def _files(plan: SyncPlan, layout: Layout, target: Target | None) -> FileStep:
    """The files that a sync touches: of an upsert at most all of them, as only the rows show in which file a key lies."""
    there = len(layout.sizes)
    if target is None or not there:
        return FileStep(layout, 0, "new files")
    if plan.overwrites:
        return FileStep(layout, there, f"new files in the place of {counted(there, 'file')}")
    if plan.spec.traits.one_row_per_key:
        files = counted(there, "file")
        if plan.spec.readers is Readers.ANY:
            return FileStep(layout, there, f"new files; at most {files} with a row that changes are written anew")
        return FileStep(layout, there, f"new files; rows are marked as deleted in at most {files}")
    return FileStep(layout, 0, f"new files beside {counted(there, 'file')}")


def _destructive(plan: SyncPlan, found: Difference, files: FileStep) -> tuple[str, ...]:
    """What the copy loses by it, though nobody is asked: the strategy says so."""
    if not files.layout.live:
        return ()
    if not plan.overwrites:
        removes = plan.reading.finds_gone and not plan.spec.deletes.marks
        return (f"removes rows whose key is gone from the source, {allowed(plan.spec.deletes)}",) if removes else ()
    before = plan.previous.rows if plan.previous else None
    stops = f"; fewer than {before / 2:,.0f} in the source stop it" if before else ""
    steps = [f"replaces the {counted(files.layout.live, 'row')} of the copy{stops}"]
    steps += [f"removes {_names(found.dropped)} and its values from the copy"] if found.dropped else []
    return tuple(steps)


def _deletes(plan: SyncPlan) -> str:
    deletes = plan.spec.deletes
    if plan.overwrites:
        return "the copy becomes what the source shows"
    if plan.reading.finds_gone:
        becomes = "marked in the copy" if deletes.marks else "removed from the copy"
        return f"due: keys are compared, and rows that are gone are {becomes}, {allowed(deletes)}"
    return _gone(plan.spec, plan.previous)


def _gone(spec: TableSpec, state: State | None) -> str:
    return capture_of(spec).gone or compared_again(spec.deletes, state.compared if state else None)


def _names(columns: Sequence[Column | TargetColumn]) -> str:
    return ", ".join(repr(column.name) for column in columns)
