"""Folds the events of a table into its position. Every checkpoint table must give this answer, however it computes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from incremental_assets.core.planning.events import (
    CLOSING_KINDS,
    FINISHED_KINDS,
    TARGET_KINDS,
    Checkpoint,
    Event,
    EventKind,
    OpenIntent,
)


@dataclass(frozen=True, slots=True)
class _Announced:
    seq: int
    batch_id: str
    run_id: str
    staged: bool = False


def fold(events: Iterable[Event]) -> Checkpoint:
    """The position after these events of one table, oldest first."""
    position, announced = Checkpoint(), None
    for event in events:
        position = _advance(position, event)
        announced = _follow(announced, event)
    left = OpenIntent(announced.seq, announced.batch_id, announced.staged) if announced else None
    return replace(position, open=left)


def _advance(position: Checkpoint, event: Event) -> Checkpoint:
    return replace(
        position,
        app_id=event.app_id or position.app_id,
        last_seq=position.last_seq if event.seq is None else max(position.last_seq, event.seq),
        state=event.state or position.state,
        target=_target(position, event),
        last_report=(event.report if event.kind in FINISHED_KINDS else None) or position.last_report,
    )


def _target(position: Checkpoint, event: Event) -> tuple[str, int] | None:
    if event.kind is EventKind.RESET:
        return event.target
    return (event.target if event.kind in TARGET_KINDS else None) or position.target


def _follow(announced: _Announced | None, event: Event) -> _Announced | None:
    """The intent that is open after `event`: at most one, because an open one is closed before the next is announced."""
    if event.kind is EventKind.INTENT and event.seq is not None:
        return _Announced(event.seq, event.batch_id, event.run_id)
    if announced is None:
        return None
    if event.seq == announced.seq:
        if event.kind is EventKind.STAGED:
            return replace(announced, staged=True)
        if event.kind in CLOSING_KINDS:
            return None
    # A run that failed before its batch was staged has sent nothing to the lake. After that its commit may be on its way.
    if event.kind is EventKind.FAILED and event.run_id == announced.run_id and not announced.staged:
        return None
    return announced
