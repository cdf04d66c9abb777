"""Rows in Arrow as the pandas frame that checks see: NULL is missing, NaN is a value, and no number is rounded on the way."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

_MASKED = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
}


def as_frame(rows: pa.Table) -> pd.DataFrame:
    """The same rows, numbered from 0."""
    return rows.to_pandas(types_mapper=_dtype)


def _dtype(kind: pa.DataType) -> object | None:
    """Numbers calculate as pandas' own; moments compare with texts as pandas' own do, so that they are left to it."""
    if pa.types.is_timestamp(kind):
        return None
    return _MASKED.get(kind) or pd.ArrowDtype(kind)
