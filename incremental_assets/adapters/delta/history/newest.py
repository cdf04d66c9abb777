"""The newest versions that a history has of some keys, each with its place; and what replaces them in one commit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.history.unit import Followed, HistoryUnit
from incremental_assets.adapters.delta.history.version_rows import columns_of, filled, names_of, nothing, schema
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.marked_file import marked
from incremental_assets.adapters.delta.tasks.files.row_numbers import vector_of
from incremental_assets.adapters.delta.tasks.files.skipping import Among, Reach, file_may_hold, has_nulls
from incremental_assets.adapters.delta.tasks.files.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.tasks.matching.replacing import reaches
from incremental_assets.adapters.delta.tasks.query import asked, numbered
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import own

SEEN, FILE, ROW = own("seen"), own("file"), own("row")
"""Columns of a version that is there: the number of the batch's row with its key, and its place."""


def newest(unit: HistoryUnit, keys: list[pa.ChunkedArray]) -> pa.Table:
    """The newest version of each key that is there, with its place. Raises NotByTasks where a key has two."""
    within = reaches([unit.columns[place] for place in unit.key], keys)
    found = pa.concat_tables(
        [_placed(nothing(columns_of(unit)), [], []), *bounded(_versions(unit, numbered(keys), within))]
    )
    if unit.own.valid_to is None:
        last = asked("SELECT arg_max(i, seq) AS i FROM found GROUP BY n", found=_by_number(found, unit))
        return found.take(pa.array(np.sort(last["i"].astype(np.int64))))
    if pc.count_distinct(found[SEEN]).as_py() < found.num_rows:
        raise NotByTasks("a key has two versions that have not ended")
    return found


def ended(unit: HistoryUnit, changed: pa.Table, begins: np.ndarray[Any, Any]) -> pa.Table:
    """The same versions again, with their end. They keep the run and the sequence that brought them."""
    of, rows = unit.own, changed.select(names_of(unit))
    ends = begins[changed[SEEN].to_numpy()]
    for column, value in ((of.valid_to, ends), (of.is_current, False)):
        if column is not None:
            place = rows.column_names.index(column.name)
            rows = rows.set_column(place, column.name, filled(value, column.type, rows.num_rows))
    return rows


def written(unit: HistoryUnit, rows: pa.Table, changed: pa.Table) -> Followed:
    """These rows in a file, in place of the versions that are `changed`."""
    now = time.time_ns() // 1_000_000
    places, numbers = changed[FILE].to_numpy(), changed[ROW].to_numpy()
    touched = np.unique(places) if unit.own.valid_to else ()
    over = ((unit.files[place], vector_of(numbers[places == place])) for place in touched)
    actions, files = marked(unit.table, over, now)
    add = data_file.write_rows(unit.table, unit.statistics, [rows.cast(schema(unit))], now)
    if add is None:
        return Followed(tuple(actions), tuple(files))
    return Followed((*actions, {"add": add}), (*files, add["path"]), bytes=add["size"])


def _versions(unit: HistoryUnit, keys: pa.Table, within: tuple[Reach | Among, ...]) -> Iterator[pa.Table]:
    """Versions of these keys; where they end, only those that have not."""
    ends, columns = unit.own.valid_to, [unit.columns[place] for place in unit.key]
    same = " AND ".join(f"held.k{place} IS NOT DISTINCT FROM asked.k{place}" for place in range(len(unit.key)))
    for place, add in enumerate(unit.files):
        if (ends and not has_nulls(add.get("stats"), ends.name)) or not file_may_hold(add.get("stats"), within):
            continue
        with row_groups(unit.table, add, within) as groups:
            for group in groups:
                live = group.alive
                if ends:
                    live &= group.columns([ends])[0].is_null().to_numpy()
                if not live.any():
                    continue
                pairs = asked(
                    f"SELECT held.n AS row, asked.n AS key FROM held JOIN asked ON {same}",  # noqa: S608 - our own names
                    held=numbered(group.columns(columns)),
                    asked=keys,
                )
                fits = live[pairs["row"]]
                rows, numbers = pairs["row"][fits], pairs["key"][fits]
                if len(rows):
                    values = pa.Table.from_arrays(group.columns(list(columns_of(unit))), names=names_of(unit)).take(
                        pa.array(rows)
                    )
                    yield _placed(values, numbers, rows + group.first, place)


def _placed(values: pa.Table, numbers: Any, rows: Any, file: int = 0) -> pa.Table:
    values = values.append_column(SEEN, pa.array(numbers, pa.int64()))
    values = values.append_column(FILE, pa.array(np.full(len(numbers), file), pa.int64()))
    return values.append_column(ROW, pa.array(rows, pa.int64()))


def _by_number(found: pa.Table, unit: HistoryUnit) -> pa.Table:
    columns = [found[SEEN], found[unit.own.seq.name], pa.array(np.arange(found.num_rows))]
    return pa.table(columns, names=["n", "seq", "i"])
