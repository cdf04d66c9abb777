"""Compaction after the syncs, where it pays, under the table's lease. No sync waits for it or fails because of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

from incremental_assets.core.errors import Busy, sentence
from incremental_assets.core.model.compaction import Compacted, Compaction, NotCompacted, compaction
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.foreign_changes import knows_less

_log = logging.getLogger(__name__)


def compact_all(
    specs: Sequence[TableSpec], run_id: str, ports: Ports, seconds: float
) -> Iterator[Compacted | NotCompacted]:
    """The most urgent first, as many as can begin within so many seconds, but at least one: however long syncs take, each table gets its turn."""
    for done in _compacted(specs, run_id, ports, seconds):
        ports.observer.on_compaction(done)
        yield done


def _compacted(
    specs: Sequence[TableSpec], run_id: str, ports: Ports, seconds: float
) -> Iterator[Compacted | NotCompacted]:
    ends = time.monotonic() + seconds
    urgent: list[tuple[float, TableSpec]] = []
    for spec in specs:
        try:
            found = _look(spec, ports)
        except Exception as error:  # noqa: BLE001 - as below
            yield _not_compacted(spec, error)
        else:
            urgent += [(found.urgency, spec)] if found else []
    for number, (_, spec) in enumerate(sorted(urgent, key=lambda each: each[0], reverse=True)):
        if number and time.monotonic() >= ends:
            return
        try:
            done = compact_table(spec, run_id, ports)
        except Busy:
            continue
        except Exception as error:  # noqa: BLE001 - its sync has landed and been reported; no error here may fail it
            yield _not_compacted(spec, error)
        else:
            if done is not None:
                yield done


def compact_table(spec: TableSpec, run_id: str, ports: Ports) -> Compacted | None:
    """Compact one copy. None if that does not pay, or if the next sync has to look at the table first. Raises Busy."""
    begun = time.monotonic()
    with ports.checkpoints.lease(spec.id, run_id):
        position = ports.checkpoints.position(spec.id)
        if position.open is not None or position.state is None or position.target is None:
            return None
        target = ports.reader.inspect(spec, position.target[1])
        if target is None or target.foreign or knows_less(position, target):
            return None
        if (target.table_id, target.app_id) != (position.target[0], position.app_id):
            return None
        before = ports.reader.layout(spec)
        why = compaction(before)
        if why is None:
            return None
        version = ports.compactor.compact(spec, why.how, run_id, position.state)
        return Compacted(spec.id, why, before, ports.reader.layout(spec), version, time.monotonic() - begun)


def _look(spec: TableSpec, ports: Ports) -> Compaction | None:
    """Checked without the lease. A copy that is overwritten completely has new files after its next sync anyway."""
    return compaction(ports.reader.layout(spec)) if spec.is_incremental else None


def _not_compacted(spec: TableSpec, error: Exception) -> NotCompacted:
    _log.debug("%s: its files were not compacted", spec.id, exc_info=error)
    return NotCompacted(
        spec.id,
        f"{spec.id}: its small files were not compacted, which is tried again after the next sync: {sentence(error)}",
    )
