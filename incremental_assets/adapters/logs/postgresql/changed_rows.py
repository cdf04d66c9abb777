"""Inserts, updates and deletes of one table in one block, decoded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.changes import CODES, OWN, Change, Offsets, change_column, unsent_column
from incremental_assets.adapters.logs.postgresql.binary_values import Bools
from incremental_assets.adapters.logs.postgresql.letters import DELETE, INSERT, UPDATE
from incremental_assets.adapters.logs.postgresql.rejects import Rejects
from incremental_assets.adapters.logs.postgresql.relation import Layout
from incremental_assets.adapters.logs.postgresql.spool import Block, Octets
from incremental_assets.adapters.logs.postgresql.transactions import Stamps
from incremental_assets.adapters.logs.postgresql.tuples import UNSENT, Places, walk
from incremental_assets.adapters.logs.postgresql.values import values_of
from incremental_assets.adapters.spark.arrow_types import required_type

_NEW = ord("N")
_BY_KIND = np.full(256, -1, np.int8)
_BY_KIND[[INSERT, UPDATE, DELETE]] = [CODES[change] for change in (Change.INSERT, Change.UPDATE, Change.DELETE)]
_TAG, _TUPLE = 5, 6
"""Where a message of a row says which row comes first, the old one or the new one, and where that begins."""


@dataclass(frozen=True, slots=True)
class Terms:
    """How a table's rows are read: its columns, by which of them its rows are identified, and whether more than that is wanted of rows that are gone."""

    layout: Layout
    key: tuple[str, ...]
    old_rows: bool = False


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that are decoded together: the message and the change of each, and where its values are."""

    messages: Offsets
    codes: npt.NDArray[np.int8]
    is_left: Bools
    """Where it is the old key of a row that has another one now."""
    places: Sequence[Places]


def changed(block: Block, messages: Offsets, terms: Terms, kinds: npt.NDArray[np.uint8], stamps: Stamps) -> pa.Table:
    """The changes of these messages. Raises StageBroken, NotBinary."""
    layout = terms.layout
    rows = _placed(block, messages, terms, kinds[messages])
    columns, rejects = [], Rejects.none(len(rows.codes))
    for places, kind, column in zip(rows.places, layout.kinds, layout.columns, strict=True):
        values, bad = values_of(block.data, places, kind)
        columns.append(values)
        if bad is not None:
            # A row that is gone is known by its key alone, unless all of it is wanted.
            counts = not terms.key or terms.old_rows or column.name in terms.key
            rejects.add(column, bad if counts else bad & (rows.codes != CODES[Change.DELETE]))
    rejects.quote(block.data, rows.places, layout)
    unsent = [places.kinds == UNSENT for places in rows.places]
    own = _own(rows, stamps, unsent_column(unsent, len(rows.codes)), rejects)
    return pa.Table.from_arrays([*own, *columns], schema=schema_of(layout))


def truncated(layout: Layout, stamps: Stamps, message: int) -> pa.Table:
    """The one row that says that all rows before it are gone."""
    messages = np.array([message])
    rows = _Rows(messages, np.array([CODES[Change.TRUNCATE]], np.int8), np.zeros(1, bool), ())
    own = _own(rows, stamps, pa.nulls(1, pa.binary()), Rejects.none(1))
    return pa.Table.from_arrays(
        [*own, *(pa.nulls(1, required_type(kind.spark_type)) for kind in layout.kinds)], schema=schema_of(layout)
    )


def schema_of(layout: Layout) -> pa.Schema:
    """The columns of ours, then the layout's."""
    pairs = zip(layout.names, layout.kinds, strict=True)
    return pa.schema([*OWN, *(pa.field(name, required_type(kind.spark_type)) for name, kind in pairs)])


def _own(rows: _Rows, stamps: Stamps, unsent: pa.Array, rejects: Rejects) -> list[pa.Array]:
    # The old key is one place before the row that has left it.
    ordinals = 2 * stamps.ordinal[rows.messages] - rows.is_left
    return [
        change_column(rows.codes),
        pa.array(stamps.commit_lsn[rows.messages]),
        pa.array(ordinals),
        pa.array(stamps.xid[rows.messages]),
        pa.array(stamps.committed_at[rows.messages]).cast(pa.timestamp("us", "UTC")),
        unsent,
        *rejects.columns(),
    ]


def _placed(block: Block, messages: Offsets, terms: Terms, kinds: npt.NDArray[np.uint8]) -> _Rows:
    """Where all values are: of deletes in the old row, of others in the new one or, what was not sent, in the old one; and old keys that were left."""
    data, layout = block.data, terms.layout
    starts = block.starts[messages]
    shows_old = data[starts + _TAG] != _NEW
    codes = _BY_KIND[kinds]
    if not shows_old.any():
        places, _ = _walk(data, starts + _TUPLE, layout)
        return _Rows(messages, codes, np.zeros(len(messages), bool), places)
    at_old = np.flatnonzero(shows_old)
    old, ends = _walk(data, starts[at_old] + _TUPLE, layout)
    begins = starts + _TUPLE
    begins[at_old] = ends + 1
    at_new = np.flatnonzero(kinds != DELETE)
    new, _ = _walk(data, begins[at_new], layout)
    # An index into the old rows followed by the new ones; -1 where a message has none.
    old_of, new_of = np.full(len(messages), -1), np.full(len(messages), -1)
    old_of[at_old] = np.arange(len(at_old))
    new_of[at_new] = np.arange(len(at_new))
    both = np.flatnonzero((old_of >= 0) & (new_of >= 0))
    new = [_filled(late, early, new_of[both], old_of[both]) for late, early in zip(new, old, strict=True)]
    left = both[_key_differs(data, terms, (old, old_of[both]), (new, new_of[both]))] if terms.key else both[:0]
    order, of_old = _order(len(messages), left)
    source = np.where(of_old | (kinds[order] == DELETE), old_of[order], len(at_old) + new_of[order])
    keys = [layout.names.index(name) for name in terms.key]
    places = []
    for place, (early, late) in enumerate(zip(old, new, strict=True)):
        joined = _joined(early, late).take(source)
        places.append(joined if place in keys or terms.old_rows else joined.nothing(of_old))
    return _Rows(messages[order], np.where(of_old, CODES[Change.DELETE], codes[order]).astype(np.int8), of_old, places)


def _walk(data: Octets, starts: Offsets, layout: Layout) -> tuple[list[Places], Offsets]:
    places, ends = walk(data, starts, len(layout.relation.attributes))
    return [places[place] for place in layout.places], ends


def _order(count: int, left: Offsets) -> tuple[Offsets, Bools]:
    """Rows to messages: each once, and those that left a key twice, the old key first."""
    times = np.ones(count, np.int64)
    times[left] = 2
    order = np.repeat(np.arange(count), times)
    of_old = np.zeros(len(order), bool)
    of_old[(np.cumsum(times) - times)[left]] = True
    return order, of_old


def _filled(new: Places, old: Places, at: Offsets, of: Offsets) -> Places:
    """A value that was not sent, from the old row where that has it."""
    if not (new.kinds[at] == UNSENT).any():
        return new
    spread = Places(np.zeros_like(new.kinds), np.zeros_like(new.at), np.zeros_like(new.lengths))
    spread.kinds[at], spread.at[at], spread.lengths[at] = old.kinds[of], old.at[of], old.lengths[of]
    return new.where((new.kinds == UNSENT) & spread.sent, spread)


def _key_differs(
    data: Octets, terms: Terms, old: tuple[list[Places], Offsets], new: tuple[list[Places], Offsets]
) -> Bools:
    differs = np.zeros(len(old[1]), bool)
    for name in terms.key:
        place = terms.layout.names.index(name)
        before, after = (
            values_of(data, found[place].take(rows), terms.layout.kinds[place])[0] for found, rows in (old, new)
        )
        differs |= ~np.array(pc.fill_null(pc.equal(before, after), fill_value=False), bool)
    return differs


def _joined(early: Places, late: Places) -> Places:
    return Places(
        np.concatenate((early.kinds, late.kinds)),
        np.concatenate((early.at, late.at)),
        np.concatenate((early.lengths, late.lengths)),
    )
