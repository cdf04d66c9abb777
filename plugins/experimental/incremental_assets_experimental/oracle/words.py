"""Oracle's quoting: names in double quotes, which no name can hold, and texts in single ones."""

from __future__ import annotations

from collections.abc import Iterable

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table_id import TableId

ROW_CHANGE = "ORA_ROWSCN"
"""What every row has beside its columns: the change number of the transaction that wrote it, or its block, last. It is no name in quotes."""


def identifier(name: str) -> str:
    """A name as the catalogue spells it: upper case unless it was quoted when it was made. Raises SourceRefused."""
    if '"' in name or "\0" in name:
        raise SourceRefused(f"{name!r} is no name in Oracle, where none holds a double quote; check its spelling")
    return name if name == ROW_CHANGE else f'"{name}"'


def relation(table: TableId) -> str:
    """A table by its schema and name."""
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def text(value: str) -> str:
    """A text; the empty one is NULL."""
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def texts(values: Iterable[str]) -> str:
    """A list for IN."""
    return ", ".join(map(text, values)) or "NULL"
