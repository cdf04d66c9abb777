"""Idle tables of which a look learned something that their state does not hold: it is recorded without a run.

The watermark of a time cursor moves with the clock and is not recorded for that alone: the kept one is lower, so a clock that is put back loses nothing.
It is recorded when it went back with the clock, when numbers have settled, or when a fingerprint may begin higher: otherwise the next sync would
read again, and every look would count again, all that the last sync read.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.planning.plan import NothingToDo, Observation, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.ports import Checkpoints


@dataclass(frozen=True, slots=True)
class IdleNews:
    """One such table: its state as the look found it, and the decision of the look."""

    spec: TableSpec
    before: State | None
    found: NothingToDo


def is_news(spec: TableSpec, seen: Observation, found: NothingToDo) -> bool:
    """Whether the finding deserves a row of the checkpoint table."""
    if found.state is None:
        return False
    numbers = spec.cursor is not None and not spec.cursor.type.is_time
    before, after = found.previous_watermark, found.state.position.watermark
    went_back = before is not None and after is not None and after < before
    return numbers or went_back or seen.narrowed is not None


def keep(tables: Iterable[IdleNews], checkpoints: Checkpoints) -> None:
    """Record each as an idle sync would. A table that another run holds or has changed since, or that fails, waits for the next look."""
    for each in tables:
        table, request = each.spec.id, Request(str(uuid.uuid4()))
        with suppress(IncrementalAssetsError), checkpoints.lease(table, request.run_id) as lease:
            position = checkpoints.position(table)
            if position.state == each.before and position.open is None:
                report = SyncReport.idle(each.spec, request, each.found)
                lease.record(Event(table, EventKind.IDLE, request.run_id, state=each.found.state, report=report))
