"""Ranges of a table's key, found and read by its index, of a first load that goes range by range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import psycopg

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.rows.placed import by_index
from incremental_assets.adapters.databases.postgresql.sql import column, literal, relation
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.table import TableSpec

_IN_ORDER = 0.8
"""How much the order in which rows lie has to be that of the key. Else each range has rows of nearly all blocks, and each of them is read for every range."""
_CORRELATION = """
SELECT abs(correlation) FROM pg_stats
WHERE schemaname = $1 AND tablename = $2 AND attname = $3 AND NOT inherited
"""


def key_ranges(
    asked: Asked, spec: TableSpec, after: Place | None, rows: int, parts: int
) -> tuple[KeyRange, ...] | None:
    """The next ranges, by as many steps through the index as there are parts; None where no index has the key in this order, where rows lie in another one or nothing tells in which, and where a step takes longer than a statement may."""
    if spec.key not in (spec.shape.primary_key, *spec.shape.unique_keys):
        return None
    found = asked.execute(_CORRELATION, [spec.id.schema, spec.id.name, spec.key[0]]).fetchone()
    if found is None or found[0] is None or found[0] < _IN_ORDER:
        return None
    try:
        with asked.held():
            by_index(asked)
            return tuple(_steps(asked, spec, after, rows, min(parts, rows)))
    except psycopg.errors.QueryCanceled:
        # The read itself may take as long as it takes.
        return None


def _steps(asked: Asked, spec: TableSpec, after: Place | None, rows: int, steps: int) -> Iterator[KeyRange]:
    for _ in range(steps):
        upto = _rows_on(asked, spec, after, rows // steps)
        yield KeyRange(after, upto)
        if upto is None:
            return
        after = upto


def within(spec: TableSpec, ranges: Sequence[KeyRange]) -> str:
    """The condition for the rows of some ranges, of which each begins where the one before it ends."""
    after, upto = ranges[0].after, ranges[-1].upto
    tests = [_beyond(spec, sign, end) for sign, end in ((">", after), ("<=", upto)) if end is not None]
    return " AND ".join(tests) or "TRUE"


def _rows_on(asked: Asked, spec: TableSpec, after: Place | None, rows: int) -> Place | None:
    """The key so many rows behind a place; None where there are fewer. Rows that the configuration does not choose count, so that the index alone answers."""
    names = [column(name) for name in spec.key]
    texts, order = ", ".join(f"CAST({name} AS text)" for name in names), ", ".join(names)
    where = "" if after is None else f"WHERE {_beyond(spec, '>', after)} "
    found = asked.execute(
        f"SELECT {texts} FROM {relation(spec.id)} {where}ORDER BY {order} LIMIT 1 OFFSET {rows - 1}"
    ).fetchone()
    return None if found is None else tuple(found)


def _beyond(spec: TableSpec, sign: str, place: Place) -> str:
    """A literal takes the type of the column that it is compared with."""
    names, values = (", ".join(each) for each in (map(column, spec.key), map(literal, place)))
    return f"ROW({names}) {sign} ROW({values})" if len(place) > 1 else f"{names} {sign} {values}"
