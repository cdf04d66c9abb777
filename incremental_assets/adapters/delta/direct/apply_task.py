"""In a task: write the files of one commit. Nobody sees a row of them before the log names them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from incremental_assets.adapters.delta.direct import data_file, deletion_vector
from incremental_assets.adapters.delta.direct.adding import new
from incremental_assets.adapters.delta.direct.marked_file import marked_again, removed
from incremental_assets.adapters.delta.direct.replacing import Changed, changed
from incremental_assets.adapters.delta.direct.staged_rows import landable
from incremental_assets.adapters.delta.direct.staying import staying
from incremental_assets.adapters.delta.direct.unit import Adding, Applied, ApplyUnit, Overwriting, Replacing
from incremental_assets.adapters.spark.own_names import LATE


def apply(unit: ApplyUnit) -> Applied:
    """What the commit says to the log. Raises NotDirect for what only Spark should read."""
    now = time.time_ns() // 1_000_000
    done = _decided(unit, landable(unit))
    rows, whole = data_file.shaped(unit, done.rows), _is_whole(unit)
    actions: list[Mapping[str, Any]] = [{"remove": removed(add, now)} for add in unit.files] if whole else []
    files: list[str] = []
    for place, numbers in () if whole else done.gone.items():
        again, file = _marked(unit, place, numbers, now)
        actions += again
        files += [file] if file else []
    if isinstance(unit.how, Replacing) and whole:
        rows = pa.concat_tables([rows, staying(unit, done.gone)])
    written = data_file.write(unit, rows, now)
    if written is not None:
        actions.append({"add": written})
        files.append(written["path"])
    return Applied(
        actions=tuple(actions),
        files=tuple(files),
        written=done.rows.num_rows,
        kept=rows.num_rows - done.rows.num_rows,
        bytes=int(written["size"]) if written else 0,
        late=int(pc.sum(pc.fill_null(done.rows[LATE], False)).as_py() or 0),  # noqa: FBT003 - Arrow's own order
        marked=sum(map(len, done.gone.values())),
        left=done.left,
        unfit=done.unfit,
    )


def _decided(unit: ApplyUnit, batch: pa.Table) -> Changed:
    if isinstance(unit.how, Replacing):
        return changed(unit, unit.how, batch)
    return Changed(new(unit, unit.how, batch) if isinstance(unit.how, Adding) else batch)


def _is_whole(unit: ApplyUnit) -> bool:
    """Whether no file of the target stays."""
    return unit.how.whole if isinstance(unit.how, Replacing) else isinstance(unit.how, Overwriting)


def _marked(unit: ApplyUnit, place: int, numbers: BitMap64, now: int) -> tuple[list[Mapping[str, Any]], str | None]:
    """A file of which these rows are no more, and the file of its vector, where it has one."""
    add = unit.files[place]
    before = deletion_vector.read(unit.table, add.get("deletionVector"))
    again, file = marked_again(unit.table, add, before | numbers)
    return [{"remove": removed(add, now)}, *([{"add": again}] if again else [])], file
