"""Runs in a task: finds the versions that changes of a log add, of which a key may have many, and the ones that they end; by the rule of `logged.py`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.history.newest import SEEN, ended, newest, written
from incremental_assets.adapters.delta.history.unit import Followed, HistoryUnit
from incremental_assets.adapters.delta.history.version_rows import filled, is_same, names_of
from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags
from incremental_assets.adapters.delta.tasks.query import asked, numbered
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import IS_GONE, SINCE

Places = np.ndarray[Any, np.dtype[np.int64]]
_MOST_HELD = 512 * 1024**2
"""Bytes of changes in memory; of more, Spark makes the versions."""


@dataclass(frozen=True, slots=True)
class _Chain:
    """Changes sorted by key and, of each key, in their order. `values`: what the history has of the keys now, and behind it the changes' own rows."""

    lane: Places
    """The number of each change's key."""
    first: Flags
    """Whether it is the first of its key."""
    gone: Flags
    values: pa.Table
    known: Places
    """Of each key, by its number, its newest version that is there among the values; -1: none."""
    was_gone: Flags
    """Of each key whether that says that the row is gone, or there is none."""


def apply(unit: HistoryUnit) -> Followed:
    """What the commit says to the log. Raises NotByTasks for what only Spark should read."""
    changes = _read(unit)
    if not changes.num_rows:
        return Followed()
    changes, lane = _in_lanes(unit, changes)
    first = _differs(lane)
    rows = changes.select([each.name for each in unit.columns])
    held = newest(unit, [rows.filter(pa.array(first))[place] for place in unit.key])
    chain = _chain(unit, changes, rows, lane, held)
    source = _sources(chain)
    new = np.flatnonzero(_is_new(unit, chain, source))
    lanes, since = lane[new], changes[SINCE].cast(pa.int64()).to_numpy()[new]
    begins = _begins(lanes, since, _begun(unit, held, len(chain.known)))
    came = _versions(unit, chain, source, new, begins)
    firsts = _differs(lanes)
    ends = np.zeros(len(chain.known), np.int64)
    ends[lanes[firsts]] = begins[firsts]
    over = held.filter(pa.array(np.isin(held[SEEN].to_numpy(), lanes)))
    past = ended(unit, over, ends)
    done = written(unit, pa.concat_tables([came, past]), over)
    gone = int(chain.gone[new].sum())
    return replace(done, added=len(new) - gone, deleted=gone, ended=past.num_rows)


def _read(unit: HistoryUnit) -> pa.Table:
    """The changes under the history's names, and what they say of themselves."""
    told = unit.batch.changes
    if told is None:
        raise TypeError("no changes of a log are to be followed")
    with readable("a file of changes"):
        found = pq.read_table(told.path)
    if found.nbytes > _MOST_HELD:
        raise NotByTasks(f"there are more than {_MOST_HELD} bytes of changes")
    columns = [
        pa.nulls(found.num_rows, required_type(column.type))
        if place is None
        else found[place].cast(required_type(column.type))
        for column, place in zip(unit.columns, told.places, strict=True)
    ]
    return pa.table([*columns, found[IS_GONE], found[SINCE]], [*(each.name for each in unit.columns), IS_GONE, SINCE])


def _in_lanes(unit: HistoryUnit, changes: pa.Table) -> tuple[pa.Table, Places]:
    keys = numbered([changes[place] for place in unit.key])
    names = ", ".join(f"k{place}" for place in range(len(unit.key)))
    found = asked(
        f"SELECT n, dense_rank() OVER (ORDER BY {names}) - 1 AS lane FROM keys ORDER BY lane, n",  # noqa: S608 - our own names
        keys=keys,
    )
    return changes.take(pa.array(found["n"], pa.int64())), found["lane"].astype(np.int64)


def _differs(lane: Places) -> Flags:
    """Whether each is another one than the one before it."""
    return np.concatenate([np.ones(min(1, len(lane)), bool), lane[1:] != lane[:-1]])


def _chain(unit: HistoryUnit, changes: pa.Table, rows: pa.Table, lane: Places, held: pa.Table) -> _Chain:
    lanes = int(lane[-1]) + 1
    seen, deleted = held[SEEN].to_numpy(), held[unit.own.deleted.name].to_numpy(zero_copy_only=False).astype(bool)
    known, was_gone = np.full(lanes, -1, np.int64), np.ones(lanes, bool)
    known[seen], was_gone[seen] = np.arange(held.num_rows), deleted
    values = pa.concat_tables([held.select(rows.column_names), rows])
    gone = changes[IS_GONE].to_numpy(zero_copy_only=False).astype(bool)
    return _Chain(lane, _differs(lane), gone, values, known, was_gone)


def _sources(chain: _Chain) -> Places:
    """Where among the values those of each change are: its own, or of a row that is gone the last ones that it had; -1: it never had any."""
    held = len(chain.values) - len(chain.lane)
    own = np.where(chain.gone, -1, np.arange(len(chain.lane)))
    start = np.maximum.accumulate(np.where(chain.first, np.arange(len(chain.lane)), 0))
    last = np.maximum.accumulate(own)
    return np.where(last >= start, last + held, chain.known[chain.lane])


def _is_new(unit: HistoryUnit, chain: _Chain, source: Places) -> Flags:
    """Whether each change makes a version: the row was another one before it, was not there, or is no more."""
    before = np.where(chain.first, chain.known[chain.lane], np.roll(source, 1))
    was_gone = np.where(chain.first, chain.was_gone[chain.lane], np.roll(chain.gone, 1))
    both = ~chain.gone & ~was_gone
    mine, theirs = (chain.values.take(pa.array(np.where(both, each, 0))) for each in (source, before))
    same = is_same(unit, mine, theirs, both)
    return np.where(chain.gone, ~was_gone, ~same)


def _begun(unit: HistoryUnit, held: pa.Table, lanes: int) -> Places:
    """When the newest version that there is of each key begins."""
    found = np.full(lanes, np.iinfo(np.int64).min // 2)
    if unit.own.valid_from is not None:
        found[held[SEEN].to_numpy()] = held[unit.own.valid_from.name].cast(pa.int64()).to_numpy()
    return found


def _begins(lanes: Places, since: Places, begun: Places) -> Places:
    """With its commit, and in any case a microsecond behind the version before it."""
    first = _differs(lanes)
    start = np.maximum.accumulate(np.where(first, np.arange(len(lanes)), 0))
    turn = np.arange(len(lanes)) - start
    earliest = np.where(first, np.maximum(since, begun[lanes] + 1), since) - turn
    # The highest so far within a key: as ranks, to which the key's number is put in front.
    order = np.argsort(earliest, kind="stable")
    rank = np.empty(len(lanes), np.int64)
    rank[order] = np.arange(len(lanes))
    ahead = lanes * len(lanes)
    return earliest[order][np.maximum.accumulate(ahead + rank) - ahead] + turn


def _versions(unit: HistoryUnit, chain: _Chain, source: Places, new: Places, begins: Places) -> pa.Table:
    lanes, gone = chain.lane[new], chain.gone[new]
    is_last = np.concatenate([lanes[1:] != lanes[:-1], np.ones(min(1, len(lanes)), bool)])
    ends = pa.array(np.roll(begins, -1), pa.int64(), mask=is_last).cast(pa.timestamp("us", "UTC"))
    of, marks, count = unit.own, unit.marks, len(new)
    values: dict[str, Any] = {
        of.deleted.name: pa.chunked_array([pa.array(gone)]),
        of.run_id.name: filled(marks.run_id, of.run_id.type, count),
        of.seq.name: filled(marks.seq, of.seq.type, count),
        of.at.name: filled(np.full(count, marks.at), of.at.type, count),
    }
    if of.valid_from and of.valid_to and of.is_current:
        values[of.valid_from.name] = filled(begins, of.valid_from.type, count)
        values[of.valid_to.name] = pa.chunked_array([ends])
        values[of.is_current.name] = pa.chunked_array([pa.array(is_last & ~gone)])
    rows = chain.values.take(pa.array(source[new]))
    return pa.Table.from_arrays([*rows.columns, *(values[each.name] for each in of.all)], names=names_of(unit))
