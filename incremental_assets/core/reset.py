"""Rewind a table: what a reset keeps and what it forgets, and the audited step that does it."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.cursor import CursorType, CursorValue
from incremental_assets.core.errors import Refused, SelectionError
from incremental_assets.core.ports import Checkpoints, Event, EventKind, Position
from incremental_assets.core.state import State
from incremental_assets.core.table import TableSpec
from incremental_assets.core.window import merge


def reset_state(spec: TableSpec, state: State, to: CursorValue | None) -> State:
    """The state from which the next sync reads again at and above `to`, or everything for None, under the terms of today."""
    kind = spec.cursor.type if spec.cursor is not None and spec.is_incremental else None
    covered = () if to is None else tuple(w.clamp_upper(to) for w in state.coverage if _is_of(kind, w.lower, w.upper))
    return replace(
        state,
        terms=spec.terms,
        watermark=to,
        # Rows up to there are in the target already: append must go on checking its overlap against them.
        max_cursor_read=state.max_cursor_read if _is_of(kind, state.max_cursor_read) else None,
        settling=None,
        fingerprint=None,
        identity=None,
        clock=state.clock if to is not None else None,
        coverage=merge(covered),
    )


def reset_table(
    *, spec: TableSpec, to: CursorValue | None, run_id: str, checkpoints: Checkpoints, force: bool = False
) -> State:
    """Record the reset of one table under its lease. Raises Busy, SelectionError, and Refused unless `force`."""
    _check_fits(spec, to)
    with checkpoints.lease(spec.id, run_id) as lease:
        position = checkpoints.position(spec.id)
        if position.state is None:
            raise SelectionError(
                f"{spec.id}: no sync of this table is recorded, so there is nothing to reset; "
                "where its first sync begins is said with `start` in the configuration"
            )
        if not force:
            _check_harmless(spec, position, to)
        state = reset_state(spec, position.state, to)
        left = position.open
        if left is not None and left.staged:
            # Its commit may still arrive, with rows above the highest that is known: nothing may be appended unchecked.
            state = replace(state, max_cursor_read=None)
        detail = f"the watermark went from {position.state.watermark or 'nothing'} to {to or 'nothing'}"
        lease.record(Event(spec.id, EventKind.RESET, run_id, app_id=position.app_id, state=state, detail=detail))
        if left is not None:
            # Last, so that a crash before it leaves the intent to the next sync, which then looks into the lake.
            lease.record(
                Event(spec.id, EventKind.ABANDONED, run_id, left.seq, left.batch_id, position.app_id, detail="reset")
            )
    return state


def _check_fits(spec: TableSpec, to: CursorValue | None) -> None:
    if to is None:
        return
    if spec.cursor is None or not spec.is_incremental:
        raise SelectionError(f"{spec.id}: this table is read whole and has no watermark; reset it without `--to`")
    if to.type is not spec.cursor.type:
        raise SelectionError(
            f"{spec.id}: `--to` is a {to.type} and the cursor {spec.cursor.column!r} a {spec.cursor.type}"
        )


def _check_harmless(spec: TableSpec, position: Position, to: CursorValue | None) -> None:
    watermark = position.state.watermark if position.state else None
    if to is not None and (watermark is None or to.type is not watermark.type or watermark < to):
        raise Refused(
            f"{spec.id}: {to} is past the watermark ({watermark or 'none yet'}), so the rows between would never be read; "
            f"if that is meant, run `incremental-assets reset --select {spec.id} --to {to} --yes`"
        )
    if position.open is not None and position.open.staged:
        raise Refused(
            f"{spec.id}: a sync ended before its commit was confirmed; run `incremental-assets sync --select {spec.id}` first, "
            f"or give it up with `incremental-assets reset --select {spec.id} --yes`"
        )


def _is_of(kind: CursorType | None, *values: CursorValue | None) -> bool:
    """Whether the values belong to this cursor and not to one that the terms had before."""
    return kind is not None and all(value is None or value.type is kind for value in values)
