"""Runs in a task: finds the versions that a batch adds and ends, by the rule of `versions.py`, and writes the files of one commit of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.direct.files import data_file, deletion_vector
from incremental_assets.adapters.delta.direct.files.file_statistics import statistics
from incremental_assets.adapters.delta.direct.files.marked_file import marked
from incremental_assets.adapters.delta.direct.files.row_numbers import numbers_of, vector_of
from incremental_assets.adapters.delta.direct.files.skipping import Among, Reach, file_may_hold, has_nulls
from incremental_assets.adapters.delta.direct.files.staged_rows import Flags
from incremental_assets.adapters.delta.direct.files.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.direct.matching.replacing import reaches
from incremental_assets.adapters.delta.direct.query import asked, numbered
from incremental_assets.adapters.delta.encoding import encoding
from incremental_assets.adapters.delta.history.unit import Followed, HistoryUnit
from incremental_assets.adapters.delta.history.version_rows import (
    columns_of,
    filled,
    named,
    names_of,
    nothing,
    schema,
    stamps,
    versions,
)
from incremental_assets.adapters.delta.log.not_direct import NotDirect
from incremental_assets.adapters.new_file import new_file
from incremental_assets.adapters.spark.arrow_types import FLOATING, required_type
from incremental_assets.adapters.spark.own_names import own

_SEEN, _FILE, _ROW = own("seen"), own("file"), own("row")
"""Columns of a version that is there: the number of the batch's row with its key, and its place."""
_SINCE = own("since")


def apply(unit: HistoryUnit) -> Followed:
    """What the commit says to the log. Raises NotDirect for what only Spark should read."""
    read = pa.concat_tables([_marked_since(nothing(unit.columns), ()), *bounded(_seen(unit))])
    seen, since = read.drop_columns([_SINCE]), read[_SINCE]
    is_marked = since.is_valid().to_numpy()
    gone = _gone(unit)
    keys = [pa.chunked_array([*seen[place].chunks, *ours.chunks]) for place, ours in zip(unit.key, gone, strict=True)]
    if not len(keys[0]):
        return Followed()
    newest = _newest(unit, keys)
    is_gone = newest[_SEEN].to_numpy() >= seen.num_rows
    there, lost = newest.filter(pa.array(~is_gone)), newest.filter(pa.array(is_gone))
    changed = there.filter(pa.array(~_stands(unit, seen, there, is_marked)))
    lost = lost.filter(pc.invert(lost[unit.own.deleted.name]))
    told = np.where(is_marked, np.minimum(pc.fill_null(since, unit.clock).to_numpy(), unit.clock), stamps(unit, seen))
    begins = _begins(unit, np.concatenate([told, np.full(len(gone[0]), unit.clock)]), newest)
    is_new = np.ones(seen.num_rows, dtype=bool)
    is_new[there[_SEEN].to_numpy()] = False
    is_new[changed[_SEEN].to_numpy()] = True
    came, went = (
        versions(unit, seen.filter(pa.array(those)), begins[: seen.num_rows][those], gone=says)
        for those, says in ((is_new & ~is_marked, False), (is_new & is_marked, True))
    )
    values = lost.select([each.name for each in unit.columns])
    tombstones = pa.concat_tables([went, versions(unit, values, begins[lost[_SEEN].to_numpy()], gone=True)])
    over = pa.concat_tables([changed, lost])
    ended = _ended(unit, over, begins) if unit.own.valid_to else nothing(columns_of(unit))
    done = _written(unit, pa.concat_tables([came, tombstones, ended]), over)
    return replace(done, added=came.num_rows, deleted=tombstones.num_rows, ended=ended.num_rows)


def _gone(unit: HistoryUnit) -> list[pa.ChunkedArray]:
    """Keys of rows that the copy no longer has, each once: those of rows that are dead since, less those that came or were written along."""
    batch, key = unit.batch, [unit.batch.columns[place] for place in unit.key]
    names = [f"k{place}" for place in range(len(key))]
    nothing = pa.schema([(name, required_type(each.type)) for name, each in zip(names, key, strict=True)]).empty_table()

    def keys_of(add: Mapping[str, Any], but: Mapping[str, Any] | None) -> Iterator[pa.Table]:
        stays = deletion_vector.read(batch.table, (but or {}).get("deletionVector"))
        with row_groups(batch.table, add, ()) as groups:
            for group in groups:
                mine = group.alive
                if but is not None:
                    dead = np.zeros(group.rows, dtype=bool)
                    numbers = numbers_of(stays) - group.first
                    dead[numbers[(numbers >= 0) & (numbers < group.rows)]] = True
                    mine &= dead
                yield pa.Table.from_arrays(group.columns(key), names=names).filter(pa.array(mine))

    dead = [found for before, after in batch.touched for found in bounded(keys_of(before, after))]
    if not dead:
        return list(nothing.columns)
    came = [found for add in batch.new for found in bounded(keys_of(add, None))]
    same = " AND ".join(f"dead.{name} IS NOT DISTINCT FROM came.{name}" for name in names)
    both = pa.concat_tables([nothing, *dead])
    found = asked(
        f"SELECT min(n) AS n FROM dead ANTI JOIN came ON {same} GROUP BY {', '.join(names)} ORDER BY 1",  # noqa: S608 - our own names
        dead=numbered(both.columns),
        came=numbered(pa.concat_tables([nothing, *came]).columns),
    )
    return list(both.take(pa.array(found["n"], pa.int64())).columns)


def _seen(unit: HistoryUnit) -> Iterator[pa.Table]:
    """The batch's rows in the copy, with the moment since which one is marked as gone."""
    batch = unit.batch
    within = (Reach(batch.seq_column.name, "bigint", batch.seq, batch.seq),)
    for add in batch.files:
        with row_groups(batch.table, add, within) as groups:
            for group in groups:
                *values, seq = group.columns([*batch.columns, batch.seq_column])
                mine = group.alive & pc.fill_null(pc.equal(seq, batch.seq), False).to_numpy()  # noqa: FBT003 - Arrow's own order
                gone = group.columns([batch.gone]) if batch.gone else ()
                yield _marked_since(named(values, unit), gone).filter(pa.array(mine))


def _marked_since(rows: pa.Table, gone: Sequence[pa.ChunkedArray]) -> pa.Table:
    (since,) = gone or (pa.nulls(rows.num_rows, pa.int64()),)
    return rows.append_column(_SINCE, since.cast(pa.int64()))


def _newest(unit: HistoryUnit, keys: list[pa.ChunkedArray]) -> pa.Table:
    """The newest version of each key that is there, with its place. Raises NotDirect where a key has two."""
    within = reaches([unit.columns[place] for place in unit.key], keys)
    found = pa.concat_tables(
        [_placed(nothing(columns_of(unit)), [], []), *bounded(_versions(unit, numbered(keys), within))]
    )
    if unit.own.valid_to is None:
        last = asked("SELECT arg_max(i, seq) AS i FROM found GROUP BY n", found=_by_number(found, unit))
        return found.take(pa.array(np.sort(last["i"].astype(np.int64))))
    if pc.count_distinct(found[_SEEN]).as_py() < found.num_rows:
        raise NotDirect("a key has two versions that have not ended")
    return found


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


def _stands(unit: HistoryUnit, seen: pa.Table, newest: pa.Table, is_marked: Flags) -> Flags:
    """Whether each version stands: the batch has the same row, or both say that it is gone. Floats by their texts, as -0.0 and 0.0 are two values for a source."""
    ours, now_gone = seen.take(newest[_SEEN]), is_marked[newest[_SEEN].to_numpy()]
    was_gone = newest[unit.own.deleted.name].to_numpy(zero_copy_only=False).astype(bool)
    same = ~was_gone & ~now_gone
    for place, column in enumerate(unit.columns):
        if place in unit.key or not same.any():
            continue
        left, right = ours[place], newest[place]
        if column.type in FLOATING:
            left, right = left.cast(pa.string()), right.cast(pa.string())
        equal = pc.fill_null(pc.equal(left, right), pc.and_(pc.is_null(left), pc.is_null(right)))
        same &= equal.to_numpy(zero_copy_only=False)
    return same | (was_gone & now_gone)


def _begins(
    unit: HistoryUnit, stamps: np.ndarray[Any, np.dtype[np.int64]], newest: pa.Table
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """When the version of each key would begin: after the begin of the one before it."""
    if unit.own.valid_from is None:
        return stamps
    numbers, before = newest[_SEEN].to_numpy(), newest[unit.own.valid_from.name].cast(pa.int64()).to_numpy()
    begins, later = stamps.copy(), np.maximum(unit.clock, before + 1)
    begins[numbers] = np.where(stamps[numbers] > before, stamps[numbers], later)
    return begins


def _ended(unit: HistoryUnit, changed: pa.Table, begins: np.ndarray[Any, Any]) -> pa.Table:
    """The same versions again, with their end. They keep the run and the sequence that brought them."""
    of, rows = unit.own, changed.select(names_of(unit))
    ends = begins[changed[_SEEN].to_numpy()]
    for column, value in ((of.valid_to, ends), (of.is_current, False)):
        if column is not None:
            place = rows.column_names.index(column.name)
            rows = rows.set_column(place, column.name, filled(value, column.type, rows.num_rows))
    return rows


def _written(unit: HistoryUnit, rows: pa.Table, changed: pa.Table) -> Followed:
    now = time.time_ns() // 1_000_000
    places, numbers = changed[_FILE].to_numpy(), changed[_ROW].to_numpy()
    touched = np.unique(places) if unit.own.valid_to else ()
    over = ((unit.files[place], vector_of(numbers[places == place])) for place in touched)
    actions, files = marked(unit.table, over, now)
    size = 0
    if rows.num_rows:
        path = Path(unit.table) / data_file.file_name()
        with new_file(path) as file_of_rows:
            pq.write_table(rows.cast(schema(unit)), file_of_rows, **encoding(schema(unit)))
        size = path.stat().st_size
        about = {"path": path.name, "partitionValues": {}, "size": size, "modificationTime": now, "dataChange": True}
        actions.append({"add": {**about, "stats": statistics(rows, unit.statistics)}})
        files.append(path.name)
    return Followed(tuple(actions), tuple(files), bytes=size)


def _placed(values: pa.Table, numbers: Any, rows: Any, file: int = 0) -> pa.Table:
    values = values.append_column(_SEEN, pa.array(numbers, pa.int64()))
    values = values.append_column(_FILE, pa.array(np.full(len(numbers), file), pa.int64()))
    return values.append_column(_ROW, pa.array(rows, pa.int64()))


def _by_number(found: pa.Table, unit: HistoryUnit) -> pa.Table:
    columns = [found[_SEEN], found[unit.own.seq.name], pa.array(np.arange(found.num_rows))]
    return pa.table(columns, names=["n", "seq", "i"])
