"""How far a history has come, and what it has still to follow: from the logs of both tables, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from incremental_assets.adapters.delta.beside import shown_version
from incremental_assets.adapters.delta.commit_metadata import Kind
from incremental_assets.adapters.delta.log.transaction_log import Committed, TableLog
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.history import Step
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.history_step import Copy, CopyCommit, Effect, next_step

HISTORY = "incremental_assets.history"
"""Table property that tells a history of ours, and its kind."""


def next_of(copy: TableLog, history: TableLog | None) -> Step | None:
    """What a history has still to follow; None where it shows the copy as it is."""
    shown = shown_version(copy, history)
    if shown == copy.version:
        return None
    return next_step(Copy(copy.version, copy.landed(), shown, tuple(_commits(copy, -1 if shown is None else shown))))


def check_kind(spec: TableSpec, path: str, history: TableLog) -> None:
    """Raises TargetChanged where that table is none of ours, or a history of another kind."""
    table, kind, found = spec.id, spec.history, history.properties.get(HISTORY)
    if found is None:
        raise TargetChanged(
            f"{table}: the lake already holds a table at {path} that is no history of this program's; move it away, or remove `history`"
        )
    if found != kind:
        raise TargetChanged(
            f"{table}: the history at {path} was kept as `history: {found}`, and now `{kind}` is configured; write `history: {found}`, "
            "or move that table away to begin a new one"
        )


def is_shown(step: Step, copy: TableLog, history: TableLog | None) -> bool:
    """Whether a step has been followed."""
    return history is not None and history.last_sequence(copy.table_id) >= step.version


def _commits(copy: TableLog, after: int) -> Iterator[CopyCommit]:
    """Newest first, back to the one after a version; where none is shown, back to the last that landed something."""
    told = copy.commits(after)
    if after < 0:
        unlanded = list(takewhile(lambda commit: _effect(copy, commit) is Effect.NONE, told))
        told = told[: len(unlanded) + 1]
    return (_commit(copy, commit) for commit in told)


def _commit(copy: TableLog, commit: Committed) -> CopyCommit:
    note = commit.note
    state, is_rollback = note.state if note else None, note is not None and note.kind is Kind.ROLLBACK
    # The state that a rollback carries is that of then.
    told = state.clock if state and not is_rollback else None
    clock = (note.clock if note else None) or told or commit.at
    zone = state.position.zone if state else "UTC"
    seq, batch_id = (note.seq, note.batch_id) if note else (-1, "")
    restored = note.rolled_back_to if note else None
    renamed = note.renames if note is not None and note.app_id == copy.app_id else ()
    return CopyCommit(commit.version, seq, batch_id, clock, zone, _effect(copy, commit), restored, renamed)


def _effect(copy: TableLog, commit: Committed) -> Effect:
    note = commit.note
    if note is None or note.app_id != copy.app_id:
        return Effect.FOREIGN if commit.changed_rows else Effect.NONE
    if note.kind in (Kind.FENCE, Kind.MAINTENANCE, Kind.RENAME):
        return Effect.NONE
    if note.kind is not Kind.UPSERT:
        return Effect.MORE
    return Effect.TAKING if note.withdrawn else Effect.BATCH
