"""Move a table's watermark back: one audited step under its lease."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.errors import SelectionError, TermsChanged
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.as_landed import as_landed
from incremental_assets.core.planning.events import Event, EventKind, OpenIntent
from incremental_assets.core.planning.preflight import keys_stay_single, lies_elsewhere
from incremental_assets.core.ports import Checkpoints
from incremental_assets.core.words import with_article


def reset_table(*, spec: TableSpec, to: CursorValue | None, run_id: str, checkpoints: Checkpoints) -> State:
    """Record the reset of one table; `to` None reads everything again. Raises Busy, SelectionError, TermsChanged."""
    _check_fits(spec, to)
    with checkpoints.lease(spec.id, run_id, even_paused=True) as lease:
        position = checkpoints.position(spec.id)
        if position.state is None:
            raise SelectionError(
                f"{spec.id}: no sync of this table is recorded, so there is nothing to reset; "
                "`start` in the configuration says where its first sync begins"
            )
        spec = as_landed(spec, position.state)
        if position.state.terms.target != spec.terms.target:
            raise TermsChanged(lies_elsewhere(spec, position.state.terms))
        if not keys_stay_single(position.state.terms, spec.terms):
            raise TermsChanged(
                f"{spec.id}: an upsert copy holds one row per key, and what landed on other terms may hold several rows of one key: "
                f"read everything again with {full_refresh(spec)}"
            )
        if position.state.terms.where != spec.terms.where:
            raise TermsChanged(
                f"{spec.id}: the condition `where` is another one, and rows that landed would stay though it leaves them out: "
                f"read everything again with {full_refresh(spec, landed_by=position.state.terms.strategy)}"
            )
        if position.state.terms.masks != spec.terms.masks:
            raise TermsChanged(
                f"{spec.id}: the masks of its columns are others, and rows that landed would stay as they are: "
                f"read everything again with {full_refresh(spec, landed_by=position.state.terms.strategy)}"
            )
        state = reset_state(spec, position.state, to, position.open)
        detail = f"the watermark went from {position.state.position} to {state.position}"
        lease.record(Event(spec.id, EventKind.RESET, run_id, app_id=position.app_id, state=state, detail=detail))
    return state


def accept_source(*, spec: TableSpec, run_id: str, checkpoints: Checkpoints) -> State:
    """Record that another source holds the same rows: the next sync continues from the watermark with it. Raises Busy, SelectionError."""
    with checkpoints.lease(spec.id, run_id, even_paused=True) as lease:
        position = checkpoints.position(spec.id)
        if position.state is None:
            raise SelectionError(f"{spec.id}: no sync of this table is recorded, so it accepts any source")
        state = capture_of(spec).moved(spec, position.state)
        kept = position.state.identity
        detail = f"the source was accepted in place of {kept}" if kept else ""
        # The last known target stays, so that changes by another writer are still noticed.
        lease.record(
            Event(
                spec.id,
                EventKind.RESET,
                run_id,
                app_id=position.app_id,
                state=state,
                detail=detail,
                target=position.target,
            )
        )
    return state


def reset_state(spec: TableSpec, state: State, to: CursorValue | None, left: OpenIntent | None = None) -> State:
    """The state from which the next sync reads again, with today's settings, even if a sync that died turns out to have landed."""
    rewound = state.rewound(spec.terms, to)
    return rewound if left is None or not left.staged else _outliving(rewound, left)


def _outliving(state: State, left: OpenIntent) -> State:
    """The next sync closes `left` and takes over its state only if that has a later sequence than the one in force.

    How far `left` has read is not known here, so nothing may be appended unchecked.
    """
    return replace(state, seq=max(state.seq, left.seq), position=state.position.unchecked())


def _check_fits(spec: TableSpec, to: CursorValue | None) -> None:
    if to is None:
        return
    if spec.read_by is None:
        raise SelectionError(
            f"{spec.id}: this table is {capture_of(spec).words} and has no watermark; reset it without `--to`"
        )
    if to.type is not spec.read_by.type:
        raise SelectionError(
            f"{spec.id}: `--to` is {with_article(to.type)} and the cursor {spec.read_by.column!r} {with_article(spec.read_by.type)}"
        )
