"""Compaction after the syncs, where it pays, under the table's lease. No sync waits for it or fails because of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from incremental_assets.core.captures.registry import capture_of
from incremental_assets.core.concurrency.background import as_they_end
from incremental_assets.core.concurrency.cohort import Cohort
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import Busy, sentence
from incremental_assets.core.maintenance.standing import as_last_left
from incremental_assets.core.model.compaction import (
    TARGET,
    Compacted,
    Compaction,
    How,
    Layout,
    NotCompacted,
    compaction,
)
from incremental_assets.core.model.history import History
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.occurrences import CompactionEnded
from incremental_assets.core.ports import Ports

_AT_ONCE = 64
"""Tables of a round, at the most: each has a thread and a lease."""
_log = logging.getLogger(__name__)


def compact_all(
    specs: Sequence[TableSpec], run_id: str, ports: Ports, seconds: float
) -> Generator[Compacted | NotCompacted]:
    """The most urgent first, as many as can begin within so many seconds, but at least one: however long syncs take, each table gets its turn.

    Those that tasks compact go together, a round of them at a time, so that they share a job.
    """
    for done in _compacted(specs, run_id, ports, seconds):
        ports.observer.notify(CompactionEnded(done))
        yield done


def _compacted(
    specs: Sequence[TableSpec], run_id: str, ports: Ports, seconds: float
) -> Iterator[Compacted | NotCompacted]:
    ends = time.monotonic() + seconds
    due: list[Due] = []
    for files in (each for spec in specs for each in _files(spec)):
        try:
            layout = files.layout(ports)
            found = compaction(layout)
        except Exception as error:  # noqa: BLE001 - as below
            yield _not_compacted(files, error)
        else:
            due += [Due(files, found, layout.by_tasks)] if found else []
    for number, together in enumerate(rounds(due)):
        if number and time.monotonic() >= ends:
            return
        yield from _round(together, run_id, ports)


def _round(together: Sequence[Due], run_id: str, ports: Ports) -> Iterator[Compacted | NotCompacted]:
    """Side by side, as syncs are, so that what they ask of tasks at the same time is one job; none stops another."""
    works = [partial(_attempt, each.files, run_id, ports) for each in together]
    if len(works) == 1:
        ended: Iterable[Compacted | NotCompacted | None] = [works[0]()]
    else:
        run = Cohort().lane(len(works), len(works))
        ended = as_they_end(map(run.member, works), len(works), this_process.see_out)
    yield from (done for done in ended if done is not None)


def _attempt(files: Files, run_id: str, ports: Ports) -> Compacted | NotCompacted | None:
    try:
        return compact_table(files, run_id, ports)
    except Busy:
        return None
    except Exception as error:  # noqa: BLE001 - its sync has landed and been reported; no error here may fail it
        return _not_compacted(files, error)


@dataclass(frozen=True, slots=True)
class Files:
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


@dataclass(frozen=True, slots=True)
class Due:
    """Files that it pays to compact."""

    files: Files
    why: Compaction
    by_tasks: bool


def rounds(due: Sequence[Due]) -> Iterator[tuple[Due, ...]]:
    """The most urgent first, and with it others of other tables, if tasks compact all of them and they are not more than one large file. Pure."""
    left = sorted(due, key=lambda each: each.why.urgency, reverse=True)
    while left:
        first, *others = left
        taken, leased, size = [first], {first.files.spec.id}, first.why.size
        for each in others if first.by_tasks else ():
            fits = size + each.why.size <= TARGET and len(taken) < _AT_ONCE
            if fits and each.by_tasks and each.files.spec.id not in leased:
                taken.append(each)
                leased.add(each.files.spec.id)
                size += each.why.size
        yield tuple(taken)
        left = [each for each in others if each not in taken]


def _files(spec: TableSpec) -> Iterator[Files]:
    """Checked without the lease. A copy that is overwritten completely has new files after its next sync anyway."""
    if not capture_of(spec).is_whole:
        yield Files(spec)
    if spec.history is not History.NONE:
        yield Files(spec, is_history=True)


def compact_table(files: Files, run_id: str, ports: Ports) -> Compacted | None:
    """Compact a table; None if that does not pay, or if the next sync has to look at the table first. Raises Busy."""
    begun, spec = time.monotonic(), files.spec
    with ports.checkpoints.lease(spec.id, run_id):
        state = as_last_left(spec, ports)
        if state is None:
            return None
        before = files.layout(ports)
        why = compaction(before)
        if why is None:
            return None
        version = files.compact(why.how, run_id, state, ports)
        return Compacted(files.table, why, before, files.layout(ports), version, time.monotonic() - begun)


def _not_compacted(files: Files, error: Exception) -> NotCompacted:
    _log.debug("%s: its files were not compacted", files.table, exc_info=error)
    return NotCompacted(
        files.table,
        f"{files.table}: its small files were not compacted, which is tried again after the next sync: {sentence(error)}",
    )
