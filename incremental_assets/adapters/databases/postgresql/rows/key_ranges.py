"""Ranges of a table's key, found and read by its index, of a first load that goes range by range."""

from __future__ import annotations

from collections.abc import Sequence

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
    """The next ranges, by as many steps through the index as there are parts; None where rows lie in another order, or nothing tells in which."""
    found = asked.execute(_CORRELATION, [spec.id.schema, spec.id.name, spec.key[0]]).fetchone()
    if found is None or found[0] is None or found[0] < _IN_ORDER:
        return None
    with asked.held():
        by_index(asked)
        ranges: list[KeyRange] = []
        steps = min(parts, rows)
        for _ in range(steps):
            upto = _rows_on(asked, spec, after, rows // steps)
            ranges.append(KeyRange(after, upto))
            if upto is None:
                break
            after = upto
    return tuple(ranges)


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
