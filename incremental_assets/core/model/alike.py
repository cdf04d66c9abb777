"""The tables that a misspelt name may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from incremental_assets.core.model.table_id import TableId

_ALIKE = 0.6
"""How alike two names must be, as `difflib` has it."""


def alike(text: str, tables: Iterable[TableId]) -> tuple[TableId, ...]:
    """The most alike first. By the table's own name: source and schema make all names of one database alike."""
    name = text.rpartition(".")[2].strip('"')
    near = [table for table in tables if _likeness(name, table.name) >= _ALIKE]
    return tuple(sorted(near, key=lambda table: (-_likeness(text, str(table)), table)))


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold()).ratio()
