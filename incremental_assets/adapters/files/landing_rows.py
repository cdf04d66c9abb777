"""Rows of a file as they land: the copy's columns by place, the flags of a read, and what each row does to the copy."""

from __future__ import annotations

import pyarrow as pa

from incremental_assets.adapters.files.raw import Fault, Rows
from incremental_assets.adapters.json_values import shown_json
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import LATE, OPERATION, RAW, READ_FLAGS, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.file_columns import FILE, ROW
from incremental_assets.core.model.table import TableSpec


def schema_of(spec: TableSpec) -> pa.Schema:
    """What every table of such rows has."""
    columns = [(staged(place), required_type(each.spark_type)) for place, each in enumerate(spec.columns)]
    flags = [(name, pa.bool_() if name == LATE else pa.string()) for name in READ_FLAGS]
    return pa.schema([*columns, *flags, (OPERATION, pa.string())])


def staged(place: int) -> str:
    """The name of a column on its way."""
    return f"c{place}"


def landing(spec: TableSpec, paths: pa.Array, rows: Rows) -> pa.Table:
    """One row for each. `paths`: of each the file that it comes from."""
    count = len(rows.numbers)
    told = {FILE: paths, ROW: pa.array(rows.numbers, pa.int64())}
    values = {**told, **rows.columns}
    schema = schema_of(spec)
    columns = [
        values[each.name] if each.name in values else pa.nulls(count, required_type(each.spark_type))
        for each in spec.columns
    ]
    return pa.table([*columns, *_flags(paths, rows, count)], schema=schema)


def gone(spec: TableSpec, keys: pa.Table) -> pa.Table:
    """One row for each key that the copy has no more."""
    count, schema = keys.num_rows, schema_of(spec)
    places = {staged(place): each.name for place, each in enumerate(spec.columns) if each.name in spec.key}
    columns = {
        field.name: keys.column(places[field.name]).cast(field.type)
        if field.name in places
        else pa.nulls(count, field.type)
        for field in schema
    }
    columns[LATE] = pa.repeat(pa.scalar(value=False), count)
    columns[OPERATION] = pa.repeat(pa.scalar(Operation.GONE.value), count)
    return pa.table(columns, schema=schema)


def _flags(paths: pa.Array, rows: Rows, count: int) -> list[pa.Array]:
    """In the order of the schema."""
    late = pa.repeat(pa.scalar(value=False), count)
    if not rows.faults:
        nothing = pa.nulls(count, pa.string())
        flags = dict.fromkeys(READ_FLAGS, nothing) | {LATE: late}
        return [*(flags[name] for name in READ_FLAGS), pa.repeat(pa.scalar(Operation.PUT.value), count)]
    faults = [rows.faults.get(place) for place in range(count)]
    flags = {
        REJECT_COLUMN: pa.array([each and each.column for each in faults], pa.string()),
        REJECT_REASON: pa.array([each and each.reason for each in faults], pa.string()),
        RAW: pa.array(
            [each and _raw(each, paths[place].as_py(), int(rows.numbers[place])) for place, each in enumerate(faults)],
            pa.string(),
        ),
        LATE: late,
    }
    operations = [Operation.PUT.value if each is None else Operation.GONE.value for each in faults]
    return [*(flags[name] for name in READ_FLAGS), pa.array(operations)]


def _raw(fault: Fault, path: str, number: int) -> str:
    """What is known of the row, as texts, which its quarantine shows."""
    return shown_json({**fault.row, FILE: path, ROW: str(number)})
