"""Runs in a task: marks rows of a quarantine that wait for nothing more where they lie, and writes them again with what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.quarantine.open_rows import is_held, waiting_rows
from incremental_assets.adapters.delta.quarantine.rejected import rejected, value
from incremental_assets.adapters.delta.quarantine.texts import as_texts, contents
from incremental_assets.adapters.delta.quarantine.unit import Arrived, Settled, SettleUnit, Vanished
from incremental_assets.adapters.delta.tasks.files import data_file
from incremental_assets.adapters.delta.tasks.files.key_set import KeySet
from incremental_assets.adapters.delta.tasks.files.marked_file import marked
from incremental_assets.adapters.delta.tasks.files.row_numbers import vector_of
from incremental_assets.adapters.delta.tasks.files.staged_rows import StagedGroup, staged_groups, staged_name
from incremental_assets.adapters.delta.tasks.files.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_REASON
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.quarantine import Resolution

_HELD, _FILE, _ROW, _HOW = "held", "file", "row", "how"


def apply(unit: SettleUnit) -> Settled:
    """What the commit says to the log; nothing where no row is concerned. Raises NotByTasks for what only Spark should read or write."""
    waiting = _waiting(unit)
    how = _overtaken(unit, unit.of, waiting) if isinstance(unit.of, Arrived) else _vanished(unit.of, waiting)
    ends = pa.array(how, pa.string())
    ending = waiting.select([_FILE, _ROW]).append_column(_HOW, ends).filter(ends.is_valid())
    if not ending.num_rows:
        return Settled()
    now = time.time_ns() // 1_000_000
    actions, files = _marked(unit, ending, now)
    again = data_file.write_rows(unit.table, unit.statistics, _again(unit, ending), now)
    if again is not None:
        actions.append({"add": again})
        files.append(again["path"])
    return Settled(tuple(actions), tuple(files), ending.num_rows)


def _waiting(unit: SettleUnit) -> pa.Table:
    """Rows that wait now: whether a contract holds each, the texts of their key, and where they lie."""
    key = unit.of.columns
    names = _parts(key)
    schema = pa.schema(
        [*((name, pa.string()) for name in names), (_HELD, pa.bool_()), (_FILE, pa.int64()), (_ROW, pa.int64())]
    )

    def read() -> Iterator[pa.Table]:
        for place, add in enumerate(unit.files):
            with row_groups(unit.table, add, ()) as groups:
                for group in groups:
                    rows = waiting_rows(group, unit.resolved_at)
                    texts = [column.take(rows) for column in group.columns(key)]
                    flags = is_held(group, unit.held) if unit.held else np.zeros(group.rows, dtype=bool)
                    held = pa.array(flags).take(rows)
                    where = pa.repeat(pa.scalar(place, pa.int64()), len(rows))
                    yield pa.Table.from_arrays([*texts, held, where, pc.add(rows, group.first)], schema=schema)

    return pa.concat_tables([schema.empty_table(), *bounded(read())])


def _vanished(of: Vanished, waiting: pa.Table) -> list[str | None]:
    """How rows came to wait no more whose key is gone from the source; None for others."""
    parts, ends = _parts(of.columns), cast("list[str | None]", [None] * waiting.num_rows)
    columns = zip(*of.keys, strict=True)
    known = KeySet.of([pa.chunked_array([pa.array(texts, pa.string())]) for texts in columns])
    for place in known.found([waiting[part] for part in parts])[0]:
        ends[place] = Resolution.GONE.value
    return ends


def _overtaken(unit: SettleUnit, of: Arrived, waiting: pa.Table) -> list[str | None]:
    """How rows came to wait no more: the batch brought another version of them, held or not, or says that they are gone; None for others."""
    parts, ends = _parts(of.columns), cast("list[str | None]", [None] * waiting.num_rows)
    keys = waiting.select(parts).drop_null().group_by(parts).aggregate([]) if parts else None
    if waiting.num_rows == 0 or (keys is not None and not keys.num_rows):
        return ends
    found = _Found(of, keys)
    with staged_groups(of.staged) as groups:
        for group in groups:
            found.look(group)
    ends = found.ends(waiting, parts)
    if found.again:
        for place in _as_they_are(unit, of, waiting, ends, found.again):
            ends[place] = None
    return ends


def _as_they_are(
    unit: SettleUnit, of: Arrived, waiting: pa.Table, ends: Sequence[str | None], again: AbstractSet[str]
) -> Iterator[int]:
    """Places of those that would end and that came just as they are.

    What is stored as the content of a row that is held is of the columns that the table had then. So it is made anew.
    """
    places = [place for place, end in enumerate(ends) if end is not None]
    rows = waiting.take(pa.array(places, pa.int64())).append_column(_HOW, pa.array(places, pa.int64()))
    texts = [each for each in of.texts if each]
    for mine, values in _read(unit, rows, texts):
        told = iter(values)
        columns = [
            next(told) if each else pa.chunked_array([pa.nulls(mine.num_rows, pa.string())]) for each in of.texts
        ]
        same = pa.array([each in again for each in contents(columns)], pa.bool_())
        yield from mine[_HOW].filter(same).to_pylist()


class _Found:
    """What the batch says of the keys of rows that are held; of one that is all of its table it says something of every row."""

    def __init__(self, of: Arrived, keys: pa.Table | None) -> None:
        self._of, self._known = of, None if keys is None else KeySet.of(keys.columns)
        count = 0 if keys is None else keys.num_rows
        self._seen, self._stays = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.again: set[str] = set()
        """The content of the rows that the batch holds."""

    def look(self, group: StagedGroup) -> None:
        """Looks at one row group, of which only the key matters where its rows land."""
        if self._known is not None:
            names = [*map(staged_name, self._of.key), REJECT_REASON, OPERATION]
            self._keyed(self._known, group.read(names))
            if not group.lands_whole:
                self._keyed(self._known, group.read(names, put=False))
        for each in rejected([group], self._of.names, self._of.types):
            self.again.update(contents(each.texts))

    def _keyed(self, known: KeySet, rows: pa.Table) -> None:
        """Rows with one of the keys, and whether they go."""
        texts = [as_texts(value(rows, place, self._of.types[place]), self._of.types[place]) for place in self._of.key]
        places, numbers = known.found(texts)
        goes = pc.and_(pc.equal(rows[OPERATION], Operation.GONE.value), pc.is_null(rows[REJECT_REASON]))
        self._seen[numbers] = True
        self._stays[numbers[~goes.to_numpy()[places]]] = True

    def ends(self, waiting: pa.Table, parts: Sequence[str]) -> list[str | None]:
        """How each row came to wait no more; of one that cannot land only that it is gone, as its other versions tell by the copy."""
        ends: list[str | None] = [self._of.resolves if self._known is None else None] * waiting.num_rows
        if self._known is None:
            return ends
        held = waiting[_HELD].to_pylist()
        places, numbers = self._known.found([waiting[part] for part in parts])
        for place, number in zip(places, numbers, strict=True):
            if self._seen[number] and (held[place] or not self._stays[number]):
                ends[place] = self._of.resolves if self._stays[number] else Resolution.GONE.value
        return ends


def _marked(unit: SettleUnit, ending: pa.Table, now: int) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Their files without them."""
    places, numbers = ending[_FILE].to_numpy(), ending[_ROW].to_numpy()
    gone = ((unit.files[place], vector_of(numbers[places == place])) for place in np.unique(places))
    return marked(unit.table, gone, now)


def _again(unit: SettleUnit, ending: pa.Table) -> Iterator[pa.Table]:
    """They themselves, with what became of them."""
    schema = data_file.schema_of(unit.columns)
    for mine, values in _read(unit, ending, unit.columns):
        at = pa.repeat(pa.scalar(unit.at, required_type(unit.resolved_at.type)), mine.num_rows)
        told = {unit.resolved_at.name: at, unit.resolution.name: mine[_HOW]}
        columns = [told.get(each.name, held) for each, held in zip(unit.columns, values, strict=True)]
        yield pa.Table.from_arrays(columns, schema=schema)


def _read(
    unit: SettleUnit, rows: pa.Table, columns: Sequence[Stored]
) -> Iterator[tuple[pa.Table, list[pa.ChunkedArray]]]:
    """Some of the rows at a time, and the values of these columns where they lie."""
    places, numbers = rows[_FILE].to_numpy(), rows[_ROW].to_numpy()
    for place in np.unique(places):
        of_file = places == place
        with row_groups(unit.table, unit.files[place], ()) as groups:
            for group in groups:
                mine = of_file & (numbers >= group.first) & (numbers < group.first + group.rows)
                if mine.any():
                    there = pa.array(numbers[mine] - group.first)
                    yield rows.filter(pa.array(mine)), [column.take(there) for column in group.columns(columns)]


def _parts(key: Sequence[Stored]) -> list[str]:
    return [f"k{place}" for place in range(len(key))]
