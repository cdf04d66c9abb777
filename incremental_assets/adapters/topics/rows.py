"""Changes as rows that land: the copy's columns by place, the flags of a read, and what each row does to the copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.json_values import shown_json
from incremental_assets.adapters.spark.arrow_types import required_type, typed
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, RAW, READ_FLAGS, REJECT_COLUMN, REJECT_REASON
from incremental_assets.adapters.topics.changes import Change, Key
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.topic_columns import OFFSET, OP, PARTITION, POSITION, RECORD_AT

_Row = dict[str, Any]
_PUT = Operation.PUT.value


def rows_of(spec: TableSpec, names: Sequence[str], changes: Iterable[Change], gone: Iterable[Key] = ()) -> pa.Table:
    """A row for each change, and for each key that is gone."""
    rows = [_row(spec, names, change) for change in changes]
    rows += [dict(zip(spec.key, key, strict=True)) | {OPERATION: Operation.GONE.value} for key in gone]
    columns = {
        f"c{place}": typed([row.get(each.name) for row in rows], required_type(each.spark_type))
        for place, each in enumerate(spec.columns)
    }
    texts = (*(name for name in READ_FLAGS if name != LATE), OPERATION)
    flags = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in texts}
    flags[LATE] = pa.repeat(pa.scalar(value=False), len(rows))
    return pa.table(columns | {name: flags[name] for name in (*READ_FLAGS, OPERATION)})


def _row(spec: TableSpec, names: Sequence[str], change: Change) -> _Row:
    record = change.record
    told: _Row = {
        PARTITION: record.partition,
        OFFSET: record.offset,
        POSITION: None if change.place is None else max(change.order, 0),
        OP: change.op or None,
        RECORD_AT: record.at * 1000,
    }
    if change.reject is not None:
        known = {} if change.key is None else dict(zip(spec.key, change.key, strict=True))
        why = {REJECT_COLUMN: change.reject.column, REJECT_REASON: change.reject.reason}
        return told | known | why | {RAW: _raw(change.reject.row, told), OPERATION: Operation.GONE.value}
    if not spec.traits.keeps_versions and not change.values:
        return told | dict(zip(spec.key, change.key or (), strict=True)) | {OPERATION: Operation.GONE.value}
    told.update(zip(names, change.values, strict=True))
    told[OPERATION] = _PUT
    return told


def _raw(row: Mapping[str, Any], told: _Row) -> str:
    """The row as it came, as texts, which its quarantine shows."""
    texts = {name: _text(value) for name, value in {**row, **told}.items()}
    return shown_json(texts)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else shown_json(value)
