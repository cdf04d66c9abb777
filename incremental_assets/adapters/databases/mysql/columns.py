"""Makes columns of Arrow from texts of the server: at once where every value is of its kind, one by one where one is not, so that its row is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.core.model.column import Column

Sent = bytes | None

_YEAR_ZERO = "0000"
_DATED = ("date", "timestamp", "timestamp_ntz")


def converted(column: Column, sent: pa.BinaryArray) -> tuple[pa.Array, dict[int, str]]:
    """The values, and by their places those that are not of their kind, with the reason; they are NULL among the values."""
    if column.spark_type == "binary":
        return sent, {}
    try:
        return _at_once(column, sent), {}
    except pa.ArrowInvalid:
        return _one_by_one(column, sent.to_pylist())


def _at_once(column: Column, raw: pa.BinaryArray) -> pa.Array:
    texts = raw.cast(pa.string())
    if column.spark_type == "string":
        return texts
    if column.spark_type in _DATED and pc.any(pc.starts_with(texts, _YEAR_ZERO)).as_py():
        raise pa.ArrowInvalid("a year that Spark does not have")
    if column.spark_type == "timestamp":
        # Texts without a zone are those of a session in UTC.
        return texts.cast(pa.timestamp("us")).cast(required_type(column.spark_type))
    return texts.cast(required_type(column.spark_type))


def _one_by_one(column: Column, sent: Sequence[Sent]) -> tuple[pa.Array, dict[int, str]]:
    convert = _converter(column.spark_type)
    values: list[Any] = []
    unfit: dict[int, str] = {}
    for place, each in enumerate(sent):
        try:
            values.append(None if each is None else convert(each))
        except UnicodeDecodeError:
            values.append(None)
            unfit[place] = "the text is not UTF-8"
        except ValueError:
            values.append(None)
            unfit[place] = f"this {column.source_type} is no day of the calendar"
    return pa.array(values, required_type(column.spark_type)), unfit


def _converter(kind: str) -> Callable[[bytes], Any]:
    if kind.startswith("decimal"):
        return lambda sent: Decimal(sent.decode())
    return {
        "boolean": lambda sent: sent != b"0",
        "date": lambda sent: date.fromisoformat(sent.decode()),
        "timestamp": lambda sent: datetime.fromisoformat(sent.decode() + "+00:00"),
        "timestamp_ntz": lambda sent: datetime.fromisoformat(sent.decode()),
        "float": float,
        "double": float,
        "string": lambda sent: sent.decode(),
    }.get(kind, int)


def printed(sent: Sent) -> str | None:
    """A value as people read it: its text, or where that is not UTF-8 its bytes as `x'…'`; None for NULL."""
    if sent is None:
        return None
    try:
        return sent.decode()
    except UnicodeDecodeError:
        return f"x'{sent.hex()}'"
