"""Retention carried out: what a table keeps longer than it has to is removed, under its lease. No sync waits for it or fails because of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence

from incremental_assets.core.errors import Busy, sentence
from incremental_assets.core.maintenance.standing import as_last_left
from incremental_assets.core.model.history import History
from incremental_assets.core.model.retention import KEEPS_ALL, NotPruned, OldFiles, Pruned, Retention
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.occurrences import PruningEnded
from incremental_assets.core.ports import Ports

_log = logging.getLogger(__name__)

LATER = "its next sync has to look at it first"


def prune_all(
    specs: Sequence[TableSpec], kept: Callable[[TableId], Retention], run_id: str, ports: Ports
) -> Iterator[Pruned | NotPruned]:
    """One after the other, those of which something is not kept forever; none stops another."""
    for spec in specs:
        if (retention := kept(spec.id)) != KEEPS_ALL:
            done = _attempt(spec, retention, run_id, ports)
            ports.observer.notify(PruningEnded(done))
            yield done


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
    begun = time.monotonic()
    with ports.checkpoints.lease(spec.id, run_id):
        if as_last_left(spec, ports) is None:
            return NotPruned(spec.id, f"{spec.id}: nothing of it was pruned: {LATER}")
        found = _old_files(spec, retention, ports)
        ports.retention.remove_files(spec, found)
        done = Pruned(
            spec.id,
            sum(len(each.files) for each in found),
            sum(each.bytes for each in found),
            time.monotonic() - begun,
            tuple(f"{each.place}: {each.left}" for each in found if each.left),
        )
        ports.checkpoints.record_pruning(done)
        return done


def _old_files(spec: TableSpec, retention: Retention, ports: Ports) -> tuple[OldFiles, ...]:
    if retention.files is None:
        return ()
    if spec.history is not History.NONE and ports.historian.behind(spec) is not None:
        # It reads versions of the copy that nobody else may need.
        return (OldFiles(str(spec.id), left="its history has still to follow it"),)
    return ports.retention.old_files(spec, retention.files, None)
