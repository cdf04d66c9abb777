"""Spark SQL expressions that several packages need: quoting, columns by name, row equality, the cursor as a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from incremental_assets.adapters.spark.own_names import own
from incremental_assets.core.model.column import Column as SourceColumn
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec, cursor_of

_TIMES = {CursorType.DATE: "date", CursorType.DATETIME: "timestamp_ntz", CursorType.TIMESTAMP: "timestamp"}
_AT_ONCE = 100
"""Columns that are compared one by one, or in one struct."""
_TEXT_NUMBER = "decimal(38,9)"
_WHOLE_DIGITS = 29
_LAST_YEAR = 9999
_BIGINT = range(-(2**63), 2**63)


def quoted(name: str) -> str:
    """A name in backticks."""
    return f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    """A text in single quotes, as Spark reads it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def column(name: str, side: str = "") -> Column:
    """The column of that very name, whatever is in it; `side` is the alias of its frame."""
    return sf.col(f"{side}.{quoted(name)}" if side else quoted(name))


def schema_of(columns: Iterable[SourceColumn]) -> StructType:
    """The columns as Spark's schema, all nullable: what the source enforces is the source's."""
    return cast(
        StructType, StructType.fromDDL(", ".join(f"{quoted(found.name)} {found.spark_type}" for found in columns))
    )


def all_of(conditions: Iterable[Column]) -> Column:
    """Their conjunction, of at least one."""
    return reduce(lambda left, right: left & right, conditions)


def alike(pairs: Sequence[tuple[Column, Column, str]]) -> Column:
    """`same` for every pair of columns and their type, of at least one.

    Many are compared as structs: Catalyst descends into a conjunction link by link, and some hundreds of links overflow its stack.
    """
    if len(pairs) <= _AT_ONCE:
        return all_of(same(left, right, spark_type) for left, right, spark_type in pairs)
    groups = [pairs[start : start + _AT_ONCE] for start in range(0, len(pairs), _AT_ONCE)]
    return all_of(
        _gathered((left, kind) for left, _, kind in group).eqNullSafe(
            _gathered((right, kind) for _, right, kind in group)
        )
        for group in groups
    )


def _gathered(values: Iterable[tuple[Column, str]]) -> Column:
    """Columns and their types as a struct, its fields named by their places, as two structs compare only under the same names."""
    return sf.struct(
        *(comparable(value, kind).alias(own(f"field_{place}")) for place, (value, kind) in enumerate(values))
    )


def comparable(value: Column, spark_type: str) -> Column:
    """-0.0 and 0.0 are two values for the source, so floats are compared by their text."""
    return value.cast("string") if spark_type in ("float", "double") else value


def same(left: Column, right: Column, spark_type: str) -> Column:
    """Null-safe equality."""
    return comparable(left, spark_type).eqNullSafe(comparable(right, spark_type))


def cursor_column(spec: TableSpec, side: str = "") -> Column:
    """The cursor's value in a row as Spark orders it: the fallback's where it is NULL."""
    return sf.coalesce(*_ordered(spec, side))


def from_on(spec: TableSpec, lower: CursorValue, side: str = "") -> Column | None:
    """The condition that a cursor is NULL, or at or above a value, written so that files are skipped by it; None where Spark has no such order."""
    value = spark_value(lower)
    if value is None:
        return None
    either = [(found >= value) | found.isNull() for found in _ordered(spec, side)]
    # The fallback speaks only where the cursor is silent.
    first = _ordered(spec, side)[0]
    return either[0] if len(either) == 1 else (first >= value) | (first.isNull() & either[1])


def spark_value(value: CursorValue) -> Column | None:
    """A cursor's value as Spark compares it with `cursor_column`, cut to microseconds; None where it does not fit into that order."""
    if not value.is_finite:
        return None
    if value.type is CursorType.INTEGER:
        whole = int(value.text)
        if whole in _BIGINT:
            return sf.lit(whole)
        return sf.lit(value.text).cast(_TEXT_NUMBER) if len(value.text.lstrip("-")) <= _WHOLE_DIGITS else None
    if value.text.endswith("BC") or int(value.text.split("-")[0]) > _LAST_YEAR:
        return None
    return sf.lit(value.text).cast(_TIMES[value.type])


def _ordered(spec: TableSpec, side: str) -> list[Column]:
    """Cursor and fallback. An integer cursor on a number without a precision travels as text and is ordered as a number."""
    names = cursor_of(spec).columns
    texts = {found.name for found in spec.columns if found.spark_type == "string"}
    return [column(name, side).try_cast(_TEXT_NUMBER) if name in texts else column(name, side) for name in names]
