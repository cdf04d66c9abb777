"""A batch of changes as rows that land: with values that the log did not send and the copy has, and with all keys that a truncation took away."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.batch import BASE, Batch
from incremental_assets.adapters.logs.changes import UNSENT, unsent_places
from incremental_assets.adapters.spark.arrow_types import comparable, required_type, shown
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, RAW, READ_FLAGS, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.errors import Refused
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.cures import allow_shrink
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.words import counted

CopyRows = Callable[[TableSpec, Sequence[str], pa.Table | None], pa.Table]
"""Some columns of a copy's rows as they are now: of those with these keys, or of all."""
NOWHERE = "the log does not have this value, as the change left it as it was, and the copy has no row to take it from"


def completed(plan: SyncPlan, batch: Batch, copy: CopyRows) -> pa.Table:
    """The source's columns, the flags of a read, and what each row does. Raises Refused where a truncation would leave nothing."""
    spec = plan.spec
    rows = filled(spec, batch.rows, copy)
    late = pa.repeat(pa.scalar(value=False), len(rows))
    flags = {
        REJECT_COLUMN: rows.column(REJECT_COLUMN),
        REJECT_REASON: rows.column(REJECT_REASON),
        RAW: rows.column(RAW),
    }
    goes = pc.or_(pc.is_valid(flags[REJECT_REASON]), pc.equal(rows.column(OPERATION), Operation.GONE.value))
    operation = pc.if_else(goes, Operation.GONE.value, Operation.PUT.value)
    columns = [rows.column(each.name).cast(required_type(each.spark_type)) for each in spec.columns]
    found = pa.table(
        [*columns, *({**flags, LATE: late}[name] for name in READ_FLAGS), operation],
        names=[*(f"c{place}" for place in range(len(columns))), *READ_FLAGS, OPERATION],
    )
    return pa.concat_tables([found, _emptied(plan, rows, found.schema, copy)]) if batch.truncated else found


def filled(spec: TableSpec, rows: pa.Table, copy: CopyRows) -> pa.Table:
    """With the values that were not sent. A row that the copy does not have is one that could not land, and still cannot."""
    names = [name for name in rows.column_names if name in spec.shape.names]
    unsent = unsent_places(rows, len(names))
    lacking = [(place, name) for place, name in enumerate(names) if unsent[:, place].any()]
    if not lacking:
        return rows
    base = rows.column(BASE).combine_chunks()
    wanted = pa.table([base.filter(base.is_valid()).field(place) for place in range(len(spec.key))], list(spec.key))
    held = copy(spec, [*spec.key, *(name for _, name in lacking if name not in spec.key)], _once(wanted))
    places = {key: place for place, key in enumerate(_keys(held, spec.key))}
    asked = _keys(pa.table(base.flatten(), [field.name for field in base.type]), spec.key)
    there = np.array(base.is_valid())
    at = np.array([places.get(key, -1) if known else -1 for key, known in zip(asked, there, strict=True)])
    for place, name in lacking:
        values = held.column(name).take(pa.array(at, mask=at < 0))
        kind = rows.schema.field(name).type
        filled = pc.if_else(pa.array(unsent[:, place]), values.cast(kind), rows.column(name))
        rows = rows.set_column(rows.schema.get_field_index(name), name, filled)
    first = {int(row): name for place, name in reversed(lacking) for row in np.flatnonzero(unsent[:, place] & (at < 0))}
    return _rejected(rows, names, first) if first else rows


def _rejected(rows: pa.Table, names: Sequence[str], first: dict[int, str]) -> pa.Table:
    columns, reasons, raws = (rows.column(name).to_pylist() for name in (REJECT_COLUMN, REJECT_REASON, RAW))
    for row, name in first.items():
        if reasons[row] is None:
            columns[row], reasons[row] = name, NOWHERE
            raws[row] = json.dumps({each: _text(rows.column(each)[row]) for each in names})
    for name, values in ((REJECT_COLUMN, columns), (REJECT_REASON, reasons), (RAW, raws)):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, pa.string()))
    return rows.set_column(rows.schema.get_field_index(UNSENT), UNSENT, pa.nulls(len(rows), pa.binary()))


def _emptied(plan: SyncPlan, rows: pa.Table, schema: pa.Schema, copy: CopyRows) -> pa.Table:
    """A row for each key of the copy that the changes behind the truncation do not name."""
    spec = plan.spec
    held = copy(spec, list(spec.key), None)
    named = set(_keys(rows, spec.key))
    gone = held.take(pa.array([n for n, key in enumerate(_keys(held, spec.key)) if key not in named], pa.int64()))
    lands = pc.sum(pc.equal(rows.column(OPERATION), Operation.PUT.value)).as_py() or 0
    if len(held) and not lands and not plan.request.allow_shrink:
        raise Refused(
            f"{spec.id}: the table was truncated in the source, which would leave none of the {counted(len(held), 'row')} in the copy, so it was left as it is; "
            f"if that is right, run {allow_shrink(spec.id)}, and once the table has rows again a sync goes on by itself"
        )
    count = len(gone)
    known = {f"c{place}": gone.column(each.name) for place, each in enumerate(spec.columns) if each.name in spec.key}
    known[LATE] = pa.chunked_array([pa.repeat(pa.scalar(value=False), count)])
    known[OPERATION] = pa.chunked_array([pa.repeat(Operation.GONE.value, count)])
    return pa.table({field.name: known.get(field.name, pa.nulls(count, field.type)) for field in schema}).cast(schema)


def _once(keys: pa.Table) -> pa.Table:
    return keys.group_by(keys.column_names).aggregate([])


def _keys(rows: pa.Table, key: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(comparable(rows.column(name)).to_pylist() for name in key), strict=True))


def _text(value: pa.Scalar) -> str | None:
    return str(shown(value)) if value.is_valid else None
