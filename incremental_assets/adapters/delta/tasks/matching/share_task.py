"""Runs in a task: matches one share of a batch, and writes its rows to a file. Nobody sees a row of it before the log names it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.staged_rows import StagedRows, staged
from incremental_assets.adapters.delta.tasks.files.unit import Adding, ApplyUnit, Replacing, Share, Staying
from incremental_assets.adapters.delta.tasks.matching.adding import new
from incremental_assets.adapters.delta.tasks.matching.replacing import Changed, changed, replaced
from incremental_assets.adapters.delta.tasks.matching.staying import staying
from incremental_assets.adapters.spark.own_names import LATE


def apply(unit: ApplyUnit) -> Share:
    """What the share adds, and what it takes away. Raises NotByTasks for what only Spark should read."""
    counted, now = _Counted(), time.time_ns() // 1_000_000
    if isinstance(unit.how, Staying):
        gone = replaced(unit, unit.how)
        add = data_file.write(unit, counted.stays(staying(unit, unit.how.places, gone)), now)
        return Share(add, gone, kept=counted.kept)
    with staged(unit, unit.groups) as batch:
        done = _decided(unit, batch)
        add = data_file.write(unit, counted.all(unit, batch, done), now)
    return Share(add, done.gone, counted.written, counted.kept, counted.flagged, counted.late, done.left, done.unfit)


def _decided(unit: ApplyUnit, batch: StagedRows) -> Changed:
    if isinstance(unit.how, Replacing):
        return changed(unit, unit.how, batch)
    return Changed(new(unit, unit.how, batch) if isinstance(unit.how, Adding) else None)


class _Counted:
    """Rows on their way into a file."""

    written = kept = flagged = late = 0

    def all(self, unit: ApplyUnit, batch: StagedRows, done: Changed) -> Iterator[pa.Table]:
        """Those of the batch, and those that stay where they are written along."""
        # Not by a loop of its own, which would hold rows while the next ones are read.
        yield from map(partial(self._landing, unit), batch.tables(done.chosen))
        for rows in done.flagged:
            self.flagged += rows.num_rows
            yield rows
        if isinstance(unit.how, Replacing) and unit.how.whole:
            yield from self.stays(staying(unit, range(len(unit.files)), done.gone))

    def stays(self, parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Rows of the target."""
        return map(self._staying, parts)

    def _landing(self, unit: ApplyUnit, rows: pa.Table) -> pa.Table:
        self.written += rows.num_rows
        self.late += pc.sum(rows[LATE], min_count=0).as_py()
        return data_file.shaped(unit, rows)

    def _staying(self, rows: pa.Table) -> pa.Table:
        self.kept += rows.num_rows
        return rows
