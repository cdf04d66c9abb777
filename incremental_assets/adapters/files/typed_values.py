"""Values of files that say themselves what types they have: Arrow's types as the table's. What is nested becomes a text of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from incremental_assets.adapters.files.fitting import Misfits, fitted_rows, of_values
from incremental_assets.adapters.files.raw import Rows
from incremental_assets.adapters.files.refusals import Broken

_SIMPLE: Mapping[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float16(): "float",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.string_view(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.binary_view(): "binary",
    pa.date32(): "date",
    pa.date64(): "date",
}
_DIGITS = 38


def spark_type_of(kind: pa.DataType) -> str | None:
    """The type in the table; None of one that has none."""
    if pa.types.is_dictionary(kind):
        return spark_type_of(kind.value_type)
    if pa.types.is_timestamp(kind):
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})" if 0 <= kind.scale <= kind.precision <= _DIGITS else None
    if pa.types.is_fixed_size_binary(kind):
        return "binary"
    if pa.types.is_nested(kind) or pa.types.is_time(kind):
        return "string"
    return _SIMPLE.get(kind)


def numbered_rows(batches: Iterable[pa.RecordBatch], types: Mapping[str, str]) -> Iterator[Rows]:
    """Batches of a file, each row with its number in it."""
    first = 1
    for batch in batches:
        numbers, first = range(first, first + batch.num_rows), first + batch.num_rows
        yield fitted_rows(batch, numbers, types, of_typed)


@contextmanager
def sound() -> Iterator[None]:
    """Arrow reads a file inside. Raises Broken."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise Broken(str(error).partition("\n")[0]) from None


def of_typed(values: pa.Array, spark_type: str) -> tuple[pa.Array, Misfits]:
    """Values of one of these types."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_nested(values.type) or pa.types.is_time(values.type):
        values = pa.array([None if each is None else as_text(each) for each in values.to_pylist()], pa.string())
    return of_values(values, spark_type)


def as_text(value: Any) -> str:
    """What is nested, or a time of day."""
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal | UUID | date | datetime | time):
        return str(value)
    raise TypeError(type(value).__name__)
