"""Transact-SQL's quoting: names in brackets, texts in single quotes. Neither knows another escape than the doubled quote."""

from __future__ import annotations

from collections.abc import Iterable

from incremental_assets.core.model.table_id import TableId


def identifier(name: str) -> str:
    """A name in brackets."""
    doubled = name.replace("]", "]]")
    return f"[{doubled}]"


def relation(table: TableId) -> str:
    """A table by its name within the database."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def text(value: str) -> str:
    """A text in Unicode."""
    doubled = value.replace("'", "''")
    return f"N'{doubled}'"


def texts(values: Iterable[str]) -> str:
    """A list for IN."""
    return ", ".join(map(text, values)) or "NULL"
