"""Whether a table's columns are those that a contract speaks of: what no single row could break."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pandera import dtypes
from pandera.pandas import DataFrameSchema

from incremental_assets.core.model.column import Column

_BITS = MappingProxyType({"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "float": 32, "double": 64})
_KINDS: Mapping[str, type[dtypes.DataType]] = MappingProxyType(
    {
        "tinyint": dtypes.Int,
        "smallint": dtypes.Int,
        "int": dtypes.Int,
        "bigint": dtypes.Int,
        "float": dtypes.Float,
        "double": dtypes.Float,
        "boolean": dtypes.Bool,
        "string": dtypes.String,
        "binary": dtypes.Binary,
        "date": dtypes.Date,
        "timestamp": dtypes.Timestamp,
        "timestamp_ntz": dtypes.Timestamp,
        "decimal": dtypes.Decimal,
    }
)


def misfits(schema: DataFrameSchema, columns: tuple[Column, ...]) -> Iterator[str]:
    """Each in words: a column that is missing or of another type, or that a strict model does not know."""
    there = {column.name: column for column in columns}
    for name, wanted in schema.columns.items():
        found = there.get(name)
        if found is None:
            if wanted.required:
                yield f"the column {name!r} is missing"
        elif not _is(wanted, found.spark_type):
            yield f"the column {name!r} is {found.spark_type}, and not {wanted.dtype}"
    names = (*(name for name in schema.columns if name in there), *(schema.unique or ()))
    for name in dict.fromkeys(each for each in names if each not in there):
        yield f"the column {name!r} is missing"
    if schema.strict is True:
        for name in there:
            if name not in schema.columns:
                yield f"the column {name!r} is not in the model, which is strict"


def _is(wanted: Any, spark_type: str) -> bool:
    """Whether the types are of one kind, and the column wide enough. A column that is coerced is not compared: what pandas could convert it to lands nowhere."""
    if wanted.dtype is None or wanted.coerce or str(wanted.dtype) == "object":
        return True
    kind = spark_type.partition("(")[0]
    if kind not in _KINDS:
        return False
    if _KINDS[kind] is dtypes.Date:
        return isinstance(wanted.dtype, dtypes.Date) and not isinstance(wanted.dtype, dtypes.Timestamp)
    return isinstance(wanted.dtype, _KINDS[kind]) and _BITS.get(kind, 0) <= (
        getattr(wanted.dtype, "bit_width", None) or 64
    )
