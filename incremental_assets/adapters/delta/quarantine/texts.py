"""Values as the texts that Spark makes of them, and the hash of such texts by which a row is known again in its quarantine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.log.readable import readable
from incremental_assets.adapters.delta.tasks.files.skipping import ordinal
from incremental_assets.adapters.spark.arrow_types import FLOATING, unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

_FRACTION = r"\.?0+$"
"""Zeros at the end of a moment's microseconds, which Spark does not write."""
_DAYS = (ordinal(date.min), ordinal(date.max))
_MOMENTS = (ordinal(datetime.min.replace(tzinfo=UTC)), ordinal(datetime.max.replace(tzinfo=UTC)))
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES = MappingProxyType(
    {ord(sign): text for sign, text in ({chr(code): f"\\u{code:04X}" for code in range(0x20)} | _SHORT).items()}
)
"""The escapes of the JSON writer that Spark uses: Python's writes the digits of other signs in small letters."""


def refused(types: Iterable[str]) -> str:
    """Why Spark has to write these types as texts; empty where that can be done here."""
    types = tuple(types)
    if why := unknown_type(types):
        return why
    return "a column is a float, of which only Java has the text" if set(types) & set(FLOATING) else ""


def as_texts(values: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """See `staging.as_text`. Raises NotByTasks for a value whose text only Spark knows."""
    if kind == "string":
        return values
    if kind == "binary":
        return _each(values, lambda value: value.hex().upper())
    if kind.startswith("decimal"):
        # Arrow's own cast writes small ones with an exponent.
        return _each(values, lambda value: format(value, "f"))
    if kind == "date":
        _within(values.cast(pa.int32()), _DAYS)
    elif kind.startswith("timestamp"):
        _within(values.cast(pa.int64()), _MOMENTS)
        return pc.replace_substring_regex(values.cast(pa.timestamp("us")).cast(pa.string()), _FRACTION, "")
    return values.cast(pa.string())


def texts_of(raw: pa.ChunkedArray, names: Sequence[str]) -> list[pa.ChunkedArray]:
    """A column of texts for each name, from the JSON objects that the source gave in place of rejected rows; NULL where one lacks the name. Raises NotByTasks where one is no object of texts."""
    rows = [_object(each) for each in raw.to_pylist()]
    with readable("a row that was rejected"):
        try:
            return [pa.chunked_array([pa.array([row.get(name) for row in rows], pa.string())]) for name in names]
        except UnicodeEncodeError as error:
            raise NotByTasks("a row that was rejected has half of a character") from error


def contents(columns: Sequence[pa.ChunkedArray]) -> list[str]:
    """See `quarantine.content`: one text of all texts of each row."""
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return [hashlib.sha256(f"[{','.join(map(_json, row))}]".encode()).hexdigest() for row in rows]


def _json(text: str | None) -> str:
    return "null" if text is None else f'"{text.translate(_ESCAPES)}"'


def _object(text: str | None) -> dict[str, str | None]:
    try:
        found = {} if text is None else json.loads(text)
    except ValueError as error:
        raise NotByTasks("a row that was rejected is not described as it should be") from error
    if not isinstance(found, dict) or not all(value is None or isinstance(value, str) for value in found.values()):
        raise NotByTasks("a row that was rejected is described by more than texts")
    return found


def _each(values: pa.ChunkedArray, text: Any) -> pa.ChunkedArray:
    return pa.chunked_array(
        [pa.array([None if value is None else text(value) for value in values.to_pylist()], pa.string())]
    )


def _within(numbers: pa.ChunkedArray, ends: tuple[int, int]) -> None:
    """Other years have a sign, or more digits."""
    found = pc.min_max(numbers).as_py()
    if found["min"] is not None and not ends[0] <= found["min"] <= found["max"] <= ends[1]:
        raise NotByTasks("a moment lies in no year of four digits")
