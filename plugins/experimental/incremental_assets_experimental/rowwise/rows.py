"""A table's rows as Spark will hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal, Inexact
from typing import Any

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import TableSpec
from incremental_assets_experimental.rowwise.row_dialect import RowConnection, RowDialect
from incremental_assets_experimental.rowwise.sql import cursor_columns, selected

_DIGITS = Context(prec=80, traps=[Inexact])


@dataclass(frozen=True, slots=True)
class Read:
    """One row: its values as Spark is to hold them and as the driver brought them, its cursor, and the first value that is not of its kind."""

    values: tuple[Any, ...]
    brought: tuple[Any, ...]
    cursor: Any = None
    column: str = ""
    reason: str = ""


def read_rows(dialect: RowDialect, connection: RowConnection, spec: TableSpec, condition: str) -> Iterator[Read]:
    """The rows that fulfil a condition, one by one."""
    converters = [dialect.converter(column) for column in spec.columns]
    places = (
        [spec.shape.names.index(column.name) for column in cursor_columns(spec)] if spec.read_by is not None else []
    )
    by_day = spec.cursor is not None and spec.cursor.type is CursorType.DATE
    for brought in connection.rows(selected(dialect, spec, spec.shape.names, condition)):
        values, column, reason = _converted(spec, brought, converters)
        at = next((values[place] for place in places if values[place] is not None), None)
        yield Read(values, brought, at.date() if by_day and isinstance(at, datetime) else at, column, reason)


def _converted(
    spec: TableSpec, brought: Sequence[Any], converters: Sequence[Callable[[Any], Any]]
) -> tuple[tuple[Any, ...], str, str]:
    values: list[Any] = []
    name = reason = ""
    for column, value, convert in zip(spec.columns, brought, converters, strict=True):
        try:
            values.append(None if value is None else convert(value))
        except Unfit as error:
            values.append(None)
            name, reason = name or column.name, reason or str(error)
    return tuple(values), name, reason


def raw(spec: TableSpec, row: Read) -> str:
    """The row as people read it: a JSON object of texts, a value that Spark cannot hold as it was brought."""
    shown = (brought if value is None else value for value, brought in zip(row.values, row.brought, strict=True))
    texts = (None if value is None else _printed(value) for value in shown)
    return json.dumps(dict(zip(spec.shape.names, texts, strict=True)))


def _printed(value: Any) -> str:
    return f"x'{value.hex()}'" if isinstance(value, (bytes, bytearray)) else str(value)


def scaled(value: Decimal, scale: int) -> Decimal:
    """The value with exactly `scale` digits after the point. Raises decimal.Inexact where it has more."""
    return value.quantize(Decimal(1).scaleb(-scale), context=_DIGITS)
