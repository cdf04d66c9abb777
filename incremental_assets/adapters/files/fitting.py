"""Columns of a file in the types of the table: exactly, or a reason for each value that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.files.raw import Fault, Rows, text_of
from incremental_assets.adapters.spark.arrow_types import required_type

Misfits = dict[int, str]
"""By place, why a value does not fit."""
_NO_UTF8 = "a text that is no UTF-8"
_NUMBER = r"^-?[0-9]+$"
_YEARS = MappingProxyType(
    {
        pa.date32(): (-719_162, 2_932_896),
        pa.timestamp("us"): (-62_135_596_800_000_000, 253_402_300_799_999_999),
        pa.timestamp("us", "UTC"): (-62_135_596_800_000_000, 253_402_300_799_999_999),
    }
)
"""The days and moments of the years 1 to 9999, which Spark and its readers have."""
_WORDS = MappingProxyType({"timestamp": "moment with its zone", "timestamp_ntz": "moment without a zone"})


Fit = Callable[[Any, str], tuple[pa.Array, Misfits]]
"""Gives the values of one column as a type, and why some do not fit."""


def fitted_rows(batch: pa.RecordBatch, numbers: Sequence[int], types: Mapping[str, str], fit: Fit) -> Rows:
    """A batch in the types of the table; of a row with several misfits it is the first column."""
    columns: dict[str, pa.Array] = {}
    faults: dict[int, Fault] = {}
    for name in batch.schema.names:
        columns[name], misfits = fit(batch.column(name), types[name])
        for place, reason in misfits.items():
            if place not in faults:
                row = {other: _shown(batch.column(other)[place]) for other in batch.schema.names}
                faults[place] = Fault(name, reason, row)
    return Rows(numbers, columns, faults)


def _shown(value: pa.Scalar) -> str | None:
    try:
        return text_of(value.as_py())
    except UnicodeDecodeError:
        return text_of(value.as_buffer().to_pybytes()) if pa.types.is_string(value.type) else None
    except (OverflowError, ValueError):
        # A day or moment that Python does not have: its number.
        return None if pa.types.is_nested(value.type) else str(value.value)


def of_texts(values: pa.Array, spark_type: str) -> tuple[pa.Array, Misfits]:
    """Texts as bytes, of which one that is empty is no value but of a text."""
    kind = required_type(spark_type)
    texts, misfits = _fitted(values, pa.string(), _NO_UTF8)
    if pa.types.is_string(kind):
        return texts, misfits
    empty = pc.equal(texts, "")
    if pc.any(empty).as_py():
        texts = pc.if_else(empty, pa.scalar(None, pa.string()), texts)
    reason = f"a text that is no {_WORDS.get(spark_type, spark_type)}"
    if pa.types.is_integer(kind):
        # Arrow takes 0x10 for a number.
        texts, more = _only(texts, pc.match_substring_regex(texts, _NUMBER), reason)
        misfits |= more
    fitted, more = _fitted(texts, kind, reason)
    if pa.types.is_floating(kind):
        written = pc.match_substring_regex(texts, "(?i)inf")
        fitted, endless = _only(
            fitted, pc.or_(pc.invert(pc.is_inf(fitted)), written), f"a number that a {spark_type} does not hold"
        )
        more |= endless
    fitted, beyond = _of_our_years(fitted)
    return fitted, misfits | more | beyond


def of_values(values: pa.Array, spark_type: str) -> tuple[pa.Array, Misfits]:
    """Values of a type of Arrow that has this one in the table, or a narrower one."""
    if pa.types.is_string(required_type(spark_type)):
        # As bytes, as nobody else looks at them.
        return _fitted(values.cast(pa.string()).view(pa.binary()), pa.string(), _NO_UTF8)
    fitted, misfits = _fitted(values, required_type(spark_type), f"a value that a {spark_type} does not hold")
    fitted, beyond = _of_our_years(fitted)
    return fitted, misfits | beyond


def _fitted(values: pa.Array, kind: pa.DataType, reason: str) -> tuple[pa.Array, Misfits]:
    try:
        return values.cast(kind), {}
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        misfits = dict.fromkeys(_misfits(values, lambda some: some.cast(kind), 0), reason)
        return _without(values, misfits).cast(kind), misfits


def _misfits(values: pa.Array, fit: Callable[[pa.Array], Any], first: int) -> Iterator[int]:
    """The places of values that do not fit, by halves."""
    try:
        fit(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(values) == 1:
            yield first
            return
        half = len(values) // 2
        yield from _misfits(values[:half], fit, first)
        yield from _misfits(values[half:], fit, first + half)


def _only(values: pa.Array, fits: pa.Array, reason: str) -> tuple[pa.Array, Misfits]:
    misfits = (
        dict.fromkeys((place for place, fit in enumerate(fits.to_pylist()) if fit is False), reason)
        if pc.any(pc.invert(fits)).as_py()
        else {}
    )
    return (_without(values, misfits), misfits) if misfits else (values, misfits)


def _without(values: pa.Array, misfits: Misfits) -> pa.Array:
    mask = [place in misfits for place in range(len(values))]
    return pc.if_else(pa.array(mask), pa.scalar(None, values.type), values)


def _of_our_years(values: pa.Array) -> tuple[pa.Array, Misfits]:
    bounds = _YEARS.get(values.type)
    if bounds is None or not len(values):
        return values, {}
    numbers = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    inside = pc.and_(pc.greater_equal(numbers, bounds[0]), pc.less_equal(numbers, bounds[1]))
    return _only(values, inside, "a day or moment outside the years 1 to 9999")
