"""Runs in a task: finds the versions that a batch adds and ends, or a copy that is compared whole, by the rule of `versions.py`, and writes the files of one commit of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.history.newest import SEEN, ended, newest, written
from incremental_assets.adapters.delta.history.unit import Followed, HistoryUnit
from incremental_assets.adapters.delta.history.version_rows import (
    columns_of,
    is_same,
    named,
    nothing,
    stamps,
    versions,
)
from incremental_assets.adapters.delta.tasks.files import deletion_vector
from incremental_assets.adapters.delta.tasks.files.row_numbers import numbers_of
from incremental_assets.adapters.delta.tasks.files.skipping import Reach, has_nulls
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags
from incremental_assets.adapters.delta.tasks.files.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.tasks.query import asked, numbered
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import SINCE


def apply(unit: HistoryUnit) -> Followed:
    """What the commit says to the log. Raises NotByTasks for what only Spark should read."""
    read = pa.concat_tables([_marked_since(nothing(unit.columns), ()), *bounded(_seen(unit))])
    seen, since = read.drop_columns([SINCE]), read[SINCE]
    is_marked = since.is_valid().to_numpy()
    gone = _without_a_row(unit, seen) if unit.batch.whole else _gone(unit)
    keys = [pa.chunked_array([*seen[place].chunks, *ours.chunks]) for place, ours in zip(unit.key, gone, strict=True)]
    if not len(keys[0]):
        return Followed()
    held = newest(unit, keys)
    is_gone = held[SEEN].to_numpy() >= seen.num_rows
    there, lost = held.filter(pa.array(~is_gone)), held.filter(pa.array(is_gone))
    changed = there.filter(pa.array(~_stands(unit, seen, there, is_marked)))
    lost = lost.filter(pc.invert(lost[unit.own.deleted.name]))
    told = np.where(is_marked, np.minimum(pc.fill_null(since, unit.clock).to_numpy(), unit.clock), stamps(unit, seen))
    begins = _begins(unit, np.concatenate([told, np.full(len(gone[0]), unit.clock)]), held)
    is_new = np.ones(seen.num_rows, dtype=bool)
    is_new[there[SEEN].to_numpy()] = False
    is_new[changed[SEEN].to_numpy()] = True
    came, went = (
        versions(unit, seen.filter(pa.array(those)), begins[: seen.num_rows][those], gone=says)
        for those, says in ((is_new & ~is_marked, False), (is_new & is_marked, True))
    )
    values = lost.select([each.name for each in unit.columns])
    tombstones = pa.concat_tables([went, versions(unit, values, begins[lost[SEEN].to_numpy()], gone=True)])
    over = pa.concat_tables([changed, lost])
    past = ended(unit, over, begins) if unit.own.valid_to else nothing(columns_of(unit))
    done = written(unit, pa.concat_tables([came, tombstones, past]), over)
    return replace(done, added=came.num_rows, deleted=tombstones.num_rows, ended=past.num_rows)


def _gone(unit: HistoryUnit) -> list[pa.ChunkedArray]:
    """Keys of rows that the copy no longer has, each once: those of rows that are dead since, less those that came or were written along."""
    batch, key = unit.batch, [unit.batch.columns[place] for place in unit.key]
    names, nothing = _no_keys(unit)

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
    return _but(names, pa.concat_tables([nothing, *dead]), pa.concat_tables([nothing, *came]))


def _without_a_row(unit: HistoryUnit, seen: pa.Table) -> list[pa.ChunkedArray]:
    """Keys of which the history has a version that has not ended, or any where versions do not end, and the copy no row; each once."""
    names, nothing = _no_keys(unit)
    ends, key = unit.own.valid_to, [unit.columns[place] for place in unit.key]

    def known() -> Iterator[pa.Table]:
        for add in unit.files:
            if ends and not has_nulls(add.get("stats"), ends.name):
                continue
            with row_groups(unit.table, add, ()) as groups:
                for group in groups:
                    live = group.alive
                    if ends:
                        live &= group.columns([ends])[0].is_null().to_numpy()
                    yield pa.Table.from_arrays(group.columns(key), names=names).filter(pa.array(live))

    there = pa.Table.from_arrays([seen[place] for place in unit.key], names=names)
    return _but(names, pa.concat_tables([nothing, *bounded(known())]), there)


def _no_keys(unit: HistoryUnit) -> tuple[list[str], pa.Table]:
    """The names of ours under which keys are compared, and a table of none."""
    kinds = [required_type(unit.columns[place].type) for place in unit.key]
    names = [f"k{place}" for place in range(len(kinds))]
    return names, pa.schema(list(zip(names, kinds, strict=True))).empty_table()


def _but(names: Sequence[str], keys: pa.Table, others: pa.Table) -> list[pa.ChunkedArray]:
    """The keys that are none of the others, each once."""
    same = " AND ".join(f"keys.{name} IS NOT DISTINCT FROM others.{name}" for name in names)
    found = asked(
        f"SELECT min(n) AS n FROM keys ANTI JOIN others ON {same} GROUP BY {', '.join(names)} ORDER BY 1",  # noqa: S608 - our own names
        keys=numbered(keys.columns),
        others=numbered(others.columns),
    )
    return list(keys.take(pa.array(found["n"], pa.int64())).columns)


def _seen(unit: HistoryUnit) -> Iterator[pa.Table]:
    """The batch's rows in the copy, or all of them, with the moment since which one is marked as gone."""
    batch = unit.batch
    within = () if batch.whole else (Reach(batch.seq_column.name, "bigint", batch.seq, batch.seq),)
    for add in batch.files:
        with row_groups(batch.table, add, within) as groups:
            for group in groups:
                *values, seq = group.columns([*batch.columns, batch.seq_column])
                mine = group.alive
                if not batch.whole:
                    mine &= pc.fill_null(pc.equal(seq, batch.seq), False).to_numpy()  # noqa: FBT003 - Arrow's own order
                gone = group.columns([batch.gone]) if batch.gone else ()
                yield _marked_since(named(values, unit), gone).filter(pa.array(mine))


def _marked_since(rows: pa.Table, gone: Sequence[pa.ChunkedArray]) -> pa.Table:
    (since,) = gone or (pa.nulls(rows.num_rows, pa.int64()),)
    return rows.append_column(SINCE, since.cast(pa.int64()))


def _stands(unit: HistoryUnit, seen: pa.Table, newest: pa.Table, is_marked: Flags) -> Flags:
    """Whether each version stands: the batch has the same row, or both say that it is gone."""
    ours, now_gone = seen.take(newest[SEEN]), is_marked[newest[SEEN].to_numpy()]
    was_gone = newest[unit.own.deleted.name].to_numpy(zero_copy_only=False).astype(bool)
    return is_same(unit, ours, newest, ~was_gone & ~now_gone) | (was_gone & now_gone)


def _begins(
    unit: HistoryUnit, stamps: np.ndarray[Any, np.dtype[np.int64]], newest: pa.Table
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """When the version of each key would begin: after the begin of the one before it."""
    if unit.own.valid_from is None:
        return stamps
    numbers, before = newest[SEEN].to_numpy(), newest[unit.own.valid_from.name].cast(pa.int64()).to_numpy()
    begins, later = stamps.copy(), np.maximum(unit.clock, before + 1)
    begins[numbers] = np.where(stamps[numbers] > before, stamps[numbers], later)
    return begins
