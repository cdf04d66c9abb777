"""Values of files that say themselves what types they have: Arrow's types as the table's. What is nested becomes a text of JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from incremental_assets.adapters.files.fitting import Misfits, fitted_rows, of_values
from incremental_assets.adapters.files.raw import Rows, Unfitted
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
_FLAT = _SIMPLE.keys() - {pa.string_view(), pa.binary_view()}
_DIGITS = 38
_ENDLESS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""By Python's words for them."""


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
    if pa.types.is_nested(kind):
        return "string" if _has_text(kind) else None
    return "string" if pa.types.is_time(kind) else _SIMPLE.get(kind)


def _has_text(kind: pa.DataType) -> bool:
    """Whether there is one for each value of what is nested."""
    fields = [kind.field(place) for place in range(kind.num_fields)]
    if pa.types.is_struct(kind) and len({field.name for field in fields}) < len(fields):
        return False
    return all(
        not (pa.types.is_duration(field.type) or pa.types.is_interval(field.type)) and _has_text(field.type)
        for field in fields
    )


def numbered_rows(batches: Iterable[pa.RecordBatch], types: Mapping[str, str]) -> Iterator[Rows | Unfitted]:
    """Batches of a file, each row with its number in it."""
    first = 1
    for batch in batches:
        numbers, first = range(first, first + batch.num_rows), first + batch.num_rows
        if batch.num_columns and all(map(_is_flat, batch.schema.types)):
            yield Unfitted(numbers.start, batch)
        else:
            yield fitted_rows(batch, numbers, types, of_typed)


def _is_flat(kind: pa.DataType) -> bool:
    """Whether values of several files make one column as they are."""
    return kind in _FLAT or pa.types.is_decimal128(kind) or pa.types.is_timestamp(kind)


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
    if pa.types.is_time(values.type):
        return _texts(values, _time_of_day)
    if pa.types.is_nested(values.type):
        return _texts(values, lambda each: as_text(each.as_py()))
    return of_values(values, spark_type)


def as_text(value: Any) -> str:
    """What is nested, or a time of day."""
    if isinstance(value, time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    try:
        return _json(value)
    except ValueError:
        # JSON has none of these numbers.
        return _json(_without_endless(value))


def _texts(values: pa.Array, as_one: Callable[[pa.Scalar], str]) -> tuple[pa.Array, Misfits]:
    texts: list[str | None] = []
    misfits: Misfits = {}
    for place, each in enumerate(values):
        try:
            texts.append(as_one(each) if each.is_valid else None)
        except (ValueError, OverflowError):
            # Bytes that are no UTF-8, a day that Python does not have.
            texts.append(None)
            misfits[place] = "a value that has no text"
    return pa.array(texts, pa.string()), misfits


def _time_of_day(value: pa.Scalar) -> str:
    if value.type.unit != "ns" or value.value % 1_000 == 0:
        return as_text(value.as_py())
    # Python's end with microseconds.
    return str(value.cast(pa.string()))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain, allow_nan=False)


def _without_endless(value: Any) -> Any:
    """With a text in the place of each number that is not finite."""
    if isinstance(value, Mapping):
        return {name: _without_endless(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_endless(each) for each in value]
    return _ENDLESS.get(str(value)) if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal | UUID | date | datetime | time):
        return str(value)
    raise TypeError(type(value).__name__)
