"""Changes as what became of each row, one after the other: for a history, which has every version."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.batch import versions
from incremental_assets.adapters.logs.changes import (
    CODES,
    COMMITTED_AT,
    LSN,
    ORDINAL,
    Change,
    change_codes,
)
from incremental_assets.adapters.logs.completing import CopyRows, filled
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.own_names import (
    IS_GONE,
    PLACE,
    REJECT_COLUMN,
    REJECT_REASON,
    SINCE,
)
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_LSN
from incremental_assets.core.model.table import TableSpec

_OWN = {PLACE: "bigint", SINCE: "timestamp", IS_GONE: "boolean", COMMIT_LSN: "bigint", CHANGE_NUMBER: "bigint"}


def row_versions(spec: TableSpec, changes: pa.Table, copy: CopyRows) -> pa.Table:
    """The source's columns, whether the row is gone then, since when, and its place; a row that is gone has its key alone.

    `copy` has what the rows were before these changes. A version that could not land is none, and its row is gone, as it is from the copy.
    """
    rows = filled(spec, versions(changes, spec.key), copy)
    codes = change_codes(rows)
    gone = (codes == CODES[Change.DELETE]) | _could_not_land(rows)
    columns = [rows.column(each.name).cast(required_type(each.spark_type)) for each in spec.columns]
    own = {
        PLACE: pa.array(np.arange(len(rows))),
        SINCE: rows.column(COMMITTED_AT),
        IS_GONE: pa.array(gone),
        COMMIT_LSN: rows.column(LSN),
        CHANGE_NUMBER: rows.column(ORDINAL),
    }
    names = [f"c{place}" for place in range(len(columns))]
    found = pa.table([*columns, *(own[name].cast(required_type(kind)) for name, kind in _OWN.items())], [*names, *_OWN])
    truncated = np.flatnonzero(codes == CODES[Change.TRUNCATE])
    named = found.filter(pa.array((codes != CODES[Change.TRUNCATE]) & _have_a_key(spec, rows)))
    if not len(truncated):
        return named
    return pa.concat_tables([named, *_emptied(spec, named, found.take(truncated), copy)]).sort_by(PLACE)


def _could_not_land(rows: pa.Table) -> npt.NDArray[np.bool_]:
    return np.array(pc.is_valid(rows.column(REJECT_REASON)))


def _have_a_key(spec: TableSpec, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Of a key that no copy can hold there is no version."""
    lacks = pc.is_in(rows.column(REJECT_COLUMN), pa.array(list(spec.key), pa.string()))
    return ~np.array(pc.fill_null(lacks, fill_value=False))


def _emptied(spec: TableSpec, rows: pa.Table, truncations: pa.Table, copy: CopyRows) -> Iterator[pa.Table]:
    """A row that is gone with a truncation, for each key that there may have been: of one that there was not it changes nothing.

    Each but the first ends what came since the one before.
    """
    places = {each.name: f"c{place}" for place, each in enumerate(spec.columns)}
    keys = [places[name] for name in spec.key]
    there, since = copy(spec, list(spec.key), None).rename_columns(keys).cast(rows.select(keys).schema), -1
    for place, own in zip(
        truncations.column(PLACE).to_pylist(), truncations.select(list(_OWN)).to_batches(1), strict=True
    ):
        came = rows.filter(pc.and_(pc.greater(rows.column(PLACE), since), pc.less(rows.column(PLACE), place)))
        yield _gone(rows.schema, pa.concat_tables([there, came.select(keys)]).group_by(keys).aggregate([]), own)
        there, since = there.slice(0, 0), place


def _gone(schema: pa.Schema, keys: pa.Table, truncation: pa.RecordBatch) -> pa.Table:
    count = len(keys)
    known = {name: keys.column(name) for name in keys.column_names}
    known |= {name: pa.chunked_array([pa.repeat(truncation.column(name)[0], count)]) for name in _OWN}
    known[IS_GONE] = pa.chunked_array([pa.repeat(pa.scalar(value=True), count)])
    return pa.table({each.name: known.get(each.name, pa.nulls(count, each.type)) for each in schema}).cast(schema)
