"""FROM and WHERE of every statement that reads rows of a table: here alone it is asked which rows the configuration chooses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from incremental_assets.adapters.databases.chosen_rows import condition_of
from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.postgresql.sql import literal, relation, value_of
from incremental_assets.adapters.databases.postgresql.types import as_text
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.row_condition import Constant
from incremental_assets.core.model.table import TableSpec

_PLAIN = re.compile(r"text|character varying(\(\d+\))?|character\(\d+\)|bpchar|name|citext")
"""Types for which every text is a value."""
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def read_from(spec: TableSpec, condition: str = "", *, beside: str = "") -> str:
    """The rows that the configuration chooses, as far as they fulfil a condition; `beside` stands before the table."""
    rows = condition
    if spec.where is not None:
        chosen = f"({condition_of(spec.where, spec.where_columns, _WORDS).sql})"
        rows = f"{chosen} AND ({condition})" if condition else chosen
    source = ", ".join(filter(None, (beside, relation(spec.id))))
    return f"FROM {source} WHERE {rows}" if rows else f"FROM {source}"


class _Words:
    """Implements `chosen_rows.Words`. A text is compared with the one that the copy has, unless every text is a value of the column: the server never fails to make one of it."""

    def side(self, column: Column, values: Sequence[Constant]) -> str:
        own = value_of(column)
        is_text = column.spark_type == "string" and any(value.kind == "text" for value in values)
        return as_text(column, own) if is_text and not _is_value(column, values) else own

    def value(self, _: Column, value: Constant) -> Condition:
        return Condition(literal(value.text) if value.kind == "text" else value.text)


_WORDS = _Words()


def _is_value(column: Column, values: Sequence[Constant]) -> bool:
    if column.source_type == "uuid":
        return all(_UUID.fullmatch(value.text) for value in values)
    return _PLAIN.fullmatch(column.source_type) is not None
