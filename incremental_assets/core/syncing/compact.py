"""Compaction after the syncs, where it pays, under the table's lease. No sync waits for it or fails because of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from incremental_assets.core.errors import Busy, sentence
from incremental_assets.core.model.compaction import Compacted, How, Layout, NotCompacted, compaction
from incremental_assets.core.model.history import History
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableId, TableSpec
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
    urgent: list[tuple[float, _Files]] = []
    for files in (each for spec in specs for each in _files(spec)):
        try:
            found = compaction(files.layout(ports))
        except Exception as error:  # noqa: BLE001 - as below
            yield _not_compacted(files, error)
        else:
            urgent += [(found.urgency, files)] if found else []
    for number, (_, files) in enumerate(sorted(urgent, key=lambda each: each[0], reverse=True)):
        if number and time.monotonic() >= ends:
            return
        try:
            done = compact_table(files, run_id, ports)
        except Busy:
            continue
        except Exception as error:  # noqa: BLE001 - its sync has landed and been reported; no error here may fail it
            yield _not_compacted(files, error)
        else:
            if done is not None:
                yield done


@dataclass(frozen=True, slots=True)
class _Files:
    """Those of a copy, or of the history beside it, which the lease of the copy keeps as they are too."""

    spec: TableSpec
    is_history: bool = False

    @property
    def table(self) -> TableId:
        return self.spec.id.history if self.is_history else self.spec.id

    def layout(self, ports: Ports) -> Layout:
        return ports.compactor.layout_of_history(self.spec) if self.is_history else ports.reader.layout(self.spec)

    def compact(self, how: How, run_id: str, state: State, ports: Ports) -> int:
        compact = ports.compactor.compact_history if self.is_history else ports.compactor.compact
        return compact(self.spec, how, run_id, state)


def _files(spec: TableSpec) -> Iterator[_Files]:
    """Checked without the lease. A copy that is overwritten completely has new files after its next sync anyway."""
    if spec.is_incremental:
        yield _Files(spec)
    if spec.history is not History.NONE:
        yield _Files(spec, is_history=True)


def compact_table(files: _Files, run_id: str, ports: Ports) -> Compacted | None:
    """None if that does not pay, or if the next sync has to look at the table first. Raises Busy."""
    begun, spec = time.monotonic(), files.spec
    with ports.checkpoints.lease(spec.id, run_id):
        position = ports.checkpoints.position(spec.id)
        if position.open is not None or position.state is None or position.target is None:
            return None
        target = ports.reader.inspect(spec, position.target[1])
        if target is None or target.foreign or knows_less(position, target):
            return None
        if (target.table_id, target.app_id) != (position.target[0], position.app_id):
            return None
        before = files.layout(ports)
        why = compaction(before)
        if why is None:
            return None
        version = files.compact(why.how, run_id, position.state, ports)
        return Compacted(files.table, why, before, files.layout(ports), version, time.monotonic() - begun)


def _not_compacted(files: _Files, error: Exception) -> NotCompacted:
    _log.debug("%s: its files were not compacted", files.table, exc_info=error)
    return NotCompacted(
        files.table,
        f"{files.table}: its small files were not compacted, which is tried again after the next sync: {sentence(error)}",
    )
