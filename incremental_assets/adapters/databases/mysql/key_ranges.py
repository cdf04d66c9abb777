"""Ranges of a table's primary key, in whose order its rows lie, of a first load that goes range by range."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from incremental_assets.adapters.databases.condition import EVERY, Condition
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.errors import TOO_LONG, parts_of
from incremental_assets.adapters.databases.mysql.sql import identifier, relation
from incremental_assets.core.model.column import WHOLE, Column
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.table import TableSpec


def key_ranges(connection: Connection, spec: TableSpec, after: Place | None, rows: int) -> tuple[KeyRange, ...] | None:
    """The next range, as one session reads it; None where the step takes longer than a statement may, where the key is not the primary one, or not of whole numbers: what else a literal of ours is compared with, no index may find."""
    if spec.key != spec.shape.primary_key or not all(map(_is_whole, spec.key_columns)):
        return None
    where = EVERY if after is None else _beyond(spec, after)
    names = ", ".join(map(identifier, spec.key))
    step = f"SELECT {names} FROM {relation(spec.id)} WHERE {where.sql} ORDER BY {names} LIMIT 1 OFFSET {rows - 1}"
    try:
        with connection.snapshot():
            found = connection.rows(step, where.values)
    except pymysql.Error as error:
        number, _ = parts_of(error)
        if number not in TOO_LONG:
            raise
        # The read itself may take as long as it takes.
        return None
    return (KeyRange(after, tuple(str(value) for value in found[0]) if found else None),)


def within(spec: TableSpec, ranges: Sequence[KeyRange]) -> Condition:
    """Rows of some ranges, of which each begins where the one before it ends."""
    after, upto = ranges[0].after, ranges[-1].upto
    rows = EVERY if after is None else _beyond(spec, after)
    if upto is None:
        return rows
    return rows & _beyond(spec, upto, "<", "<=")


def _beyond(spec: TableSpec, place: Place, sign: str = ">", last: str = ">") -> Condition:
    """Rows on one side of a place. Not as a comparison of rows, for which the server looks through the whole table; `last`: the sign for the last part of the key."""
    *names, name = map(identifier, spec.key)
    *values, value = map(int, place)
    found = Condition(f"{name} {last} %s", (value,))
    for own, each in zip(reversed(names), reversed(values), strict=True):
        found = Condition(f"{own} {sign} %s", (each,)) | (Condition(f"{own} = %s", (each,)) & found)
    return found


def _is_whole(column: Column) -> bool:
    kind = column.spark_type in WHOLE or (column.spark_type.startswith("decimal") and column.spark_type.endswith(",0)"))
    return kind and not column.source_type.startswith("bit")
