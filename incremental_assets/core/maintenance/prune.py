"""Retention carried out: what a table keeps longer than it has to is removed, under its lease. No sync waits for it or fails because of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from incremental_assets.core.errors import Busy, IncrementalAssetsError, sentence
from incremental_assets.core.maintenance.standing import as_last_left
from incremental_assets.core.model.history import History
from incremental_assets.core.model.retention import KEEPS_ALL, NotPruned, OldFiles, Pruned, Retention
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.occurrences import PruningEnded
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.ports import Ports

Result = TypeVar("Result")
_log = logging.getLogger(__name__)

LATER = "its next sync has to look at it first"


def prune_all(
    specs: Sequence[TableSpec], kept: Callable[[TableId], Retention], run_id: str, ports: Ports
) -> Iterator[Pruned | NotPruned]:
    """One after the other, those of which something is not kept forever; none stops another."""
    for spec in specs:
        _mark(spec, run_id, ports)
        if (retention := kept(spec.id)) != KEEPS_ALL:
            done = _attempt(spec, retention, run_id, ports)
            ports.observer.notify(PruningEnded(done))
            yield done


def _mark(spec: TableSpec, run_id: str, ports: Ports) -> None:
    """Of a table from which an earlier release has erased keys it is recorded that there has to be a list of them, also where nothing moves. Left to the next pruning where another run holds it."""
    state = ports.checkpoints.position(spec.id).state
    if state is None or state.erased:
        return
    with suppress(IncrementalAssetsError):
        if not ports.erasures.has(spec.id):
            return
        with ports.checkpoints.lease(spec.id, run_id, even_paused=True) as lease:
            position = ports.checkpoints.position(spec.id)
            if position.state is None or position.open is not None:
                return
            marked = Event(spec.id, EventKind.REBUILT, run_id, position.last_seq, app_id=position.app_id)
            marked = replace(marked, state=replace(position.state, erased=True), target=position.target)
            lease.record(replace(marked, detail="keys were erased by an earlier release"))


def _attempt(spec: TableSpec, retention: Retention, run_id: str, ports: Ports) -> Pruned | NotPruned:
    try:
        return prune_table(spec, retention, run_id, ports)
    except Busy as busy:
        return NotPruned(spec.id, sentence(busy), is_busy=True)
    except Exception as error:  # noqa: BLE001 - what is kept too long harms no sync
        _log.debug("%s: nothing of it was pruned", spec.id, exc_info=error)
        return NotPruned(
            spec.id, f"{spec.id}: nothing of it was pruned, which is tried again tomorrow: {sentence(error)}"
        )


def prune_table(spec: TableSpec, retention: Retention, run_id: str, ports: Ports) -> Pruned | NotPruned:
    """Prune one table. Raises Busy."""
    begun, now = time.monotonic(), datetime.now(UTC)
    with ports.checkpoints.lease(spec.id, run_id):
        state = as_last_left(spec, ports)
        if state is None:
            return NotPruned(spec.id, f"{spec.id}: nothing of it was pruned: {LATER}")
        parts = _Parts()
        found = parts.done("its files", lambda: _removed(spec, retention, ports), tuple[OldFiles, ...]())
        versions = parts.done("its history", lambda: _forgotten(spec, retention, ports, (now, run_id, state)), 0)
        quarantined = parts.done("its quarantine", lambda: _settled(spec, retention, ports, (now, run_id, state)), 0)
        done = Pruned(
            spec.id,
            sum(len(each.files) for each in found),
            sum(each.bytes for each in found),
            versions,
            quarantined,
            time.monotonic() - begun,
            (*(f"{each.place}: {each.left}" for each in found if each.left), *parts.left),
        )
        ports.checkpoints.record_pruning(done)
        return done


class _Parts:
    """What goes wrong with one part stops no other."""

    def __init__(self) -> None:
        self.left: list[str] = []

    def done(self, what: str, work: Callable[[], Result], nothing: Result) -> Result:
        try:
            return work()
        except IncrementalAssetsError as error:
            self.left.append(f"{what}: {sentence(error)}")
            return nothing


When = tuple[datetime, str, State]


def _removed(spec: TableSpec, retention: Retention, ports: Ports) -> tuple[OldFiles, ...]:
    if retention.files is None:
        return ()
    if spec.history is not History.NONE and ports.historian.behind(spec) is not None:
        # It reads versions of the copy that nobody else may need.
        return (OldFiles(str(spec.id), left="its history has still to follow it"),)
    found = ports.retention.old_files(spec, retention.files, None)
    ports.retention.remove_files(spec, found)
    return found


def _forgotten(spec: TableSpec, retention: Retention, ports: Ports, when: When) -> int:
    if retention.history is None or spec.history is not History.SCD2:
        return 0
    now, run_id, state = when
    return ports.retention.forget_versions(spec, now - retention.history, run_id, state)


def _settled(spec: TableSpec, retention: Retention, ports: Ports, when: When) -> int:
    if retention.quarantine is None:
        return 0
    now, run_id, state = when
    return ports.retention.forget_quarantined(spec, now - retention.quarantine, run_id, state)
