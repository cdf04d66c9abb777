"""Runs in a task: marks rows of a quarantine that are held no more where they lie, and writes them again with what became of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.direct.files import data_file
from incremental_assets.adapters.delta.direct.files.key_set import KeySet
from incremental_assets.adapters.delta.direct.files.marked_file import marked
from incremental_assets.adapters.delta.direct.files.row_numbers import vector_of
from incremental_assets.adapters.delta.direct.files.staged_rows import StagedGroup, staged_groups, staged_name
from incremental_assets.adapters.delta.direct.files.stored_rows import bounded, row_groups
from incremental_assets.adapters.delta.direct.files.unit import Stored
from incremental_assets.adapters.delta.holding.open_rows import open_rows
from incremental_assets.adapters.delta.holding.rejected import held_texts, value
from incremental_assets.adapters.delta.holding.texts import as_texts, contents
from incremental_assets.adapters.delta.holding.unit import Arrived, Settled, SettleUnit
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import OPERATION, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.quarantine import Resolution

_CONTENT, _FILE, _ROW = "content", "file", "row"


def apply(unit: SettleUnit) -> Settled:
    """What the commit says to the log; nothing where no row is concerned. Raises NotDirect for what only Spark should read or write."""
    held = _held(unit)
    how = _overtaken(unit, unit.of, held) if isinstance(unit.of, Arrived) else unit.of
    ends = pa.array([how.get(content) for content in held[_CONTENT].to_pylist()], pa.string())
    ending = held.select([_FILE, _ROW]).append_column("how", ends).filter(ends.is_valid())
    if not ending.num_rows:
        return Settled()
    now = time.time_ns() // 1_000_000
    actions, files = _marked(unit, ending, now)
    again = data_file.write_rows(unit.table, unit.statistics, _again(unit, ending), now)
    if again is not None:
        actions.append({"add": again})
        files.append(again["path"])
    return Settled(tuple(actions), tuple(files), ending.num_rows)


def _held(unit: SettleUnit) -> pa.Table:
    """Rows that are held now: their content, the texts of their key, and where they lie."""
    key = unit.of.columns if isinstance(unit.of, Arrived) else ()
    names = [_CONTENT, *_parts(key)]
    schema = pa.schema([*((name, pa.string()) for name in names), (_FILE, pa.int64()), (_ROW, pa.int64())])

    def read() -> Iterator[pa.Table]:
        for place, add in enumerate(unit.files):
            with row_groups(unit.table, add, ()) as groups:
                for group in groups:
                    rows = open_rows(group, unit.held, unit.resolved_at)
                    texts = [column.take(rows) for column in group.columns([unit.content, *key])]
                    where = pa.repeat(pa.scalar(place, pa.int64()), len(rows))
                    yield pa.Table.from_arrays([*texts, where, pc.add(rows, group.first)], schema=schema)

    return pa.concat_tables([schema.empty_table(), *bounded(read())])


def _overtaken(unit: SettleUnit, of: Arrived, held: pa.Table) -> Mapping[str, str]:
    """How rows came to be held no more, by their content: the batch brought another version of them, held or not, or says that they are gone."""
    parts = _parts(of.columns)
    keys = held.select(parts).drop_null().group_by(parts).aggregate([]) if parts else None
    if held.num_rows == 0 or (keys is not None and not keys.num_rows):
        return {}
    found = _Found(of, keys)
    with staged_groups(of.staged) as groups:
        for group in groups:
            found.look(group)
    ends = found.ends(held, parts)
    if not (ends and found.again):
        return ends
    stay = _held_again(unit, of, held.filter(pc.is_in(held[_CONTENT], pa.array(list(ends)))), found.again)
    return {content: end for content, end in ends.items() if content not in stay}


def _held_again(unit: SettleUnit, of: Arrived, rows: pa.Table, again: AbstractSet[str]) -> frozenset[str]:
    """The content of those that are held again just as they are.

    What is stored as their content is of the columns that the table had then. So it is made anew.
    """
    texts = [each for each in of.texts if each]
    stay: set[str] = set()
    for mine, values in _read(unit, rows, texts):
        told = iter(values)
        columns = [
            next(told) if each else pa.chunked_array([pa.nulls(mine.num_rows, pa.string())]) for each in of.texts
        ]
        stay.update(mine[_CONTENT].filter(pa.array([each in again for each in contents(columns)])).to_pylist())
    return frozenset(stay)


class _Found:
    """What the batch says of the keys of rows that are held; of one that is all of its table it says something of every row."""

    def __init__(self, of: Arrived, keys: pa.Table | None) -> None:
        self._of, self._known = of, None if keys is None else KeySet.of(keys.columns)
        count = 0 if keys is None else keys.num_rows
        self._seen, self._stays = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.again: set[str] = set()
        """The content of the rows that the batch holds."""

    def look(self, group: StagedGroup) -> None:
        """Looks at one row group, first at the rows that land, of which only the key matters."""
        if self._known is not None:
            names = [*map(staged_name, self._of.key), REJECT_REASON, OPERATION]
            self._keyed(self._known, group.read(names))
        if not group.lands_whole:
            all_of = [*map(staged_name, range(len(self._of.types))), REJECT_REASON, REJECT_COLUMN, OPERATION]
            rows = group.read(all_of, put=False)
            if self._known is not None:
                rows = rows.take(pa.array(self._keyed(self._known, rows)))
            held = rows.filter(pc.equal(rows[OPERATION], Operation.HELD.value))
            self.again.update(contents(held_texts(held, self._of.types)))

    def _keyed(self, known: KeySet, rows: pa.Table) -> Any:
        """Numbers of the rows with one of the keys."""
        texts = [as_texts(value(rows, place, self._of.types[place]), self._of.types[place]) for place in self._of.key]
        places, numbers = known.found(texts)
        goes = pc.and_(pc.equal(rows[OPERATION], Operation.GONE.value), pc.is_null(rows[REJECT_REASON]))
        self._seen[numbers] = True
        self._stays[numbers[~goes.to_numpy()[places]]] = True
        return places

    def ends(self, held: pa.Table, parts: Sequence[str]) -> Mapping[str, str]:
        """How each row came to be held no more, by its content."""
        texts = held[_CONTENT].to_pylist()
        if self._known is None:
            return dict.fromkeys(texts, self._of.resolves)
        places, numbers = self._known.found([held[part] for part in parts])
        return {
            texts[place]: self._of.resolves if self._stays[number] else Resolution.GONE.value
            for place, number in zip(places, numbers, strict=True)
            if self._seen[number]
        }


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
        told = {unit.resolved_at.name: at, unit.resolution.name: mine["how"]}
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
