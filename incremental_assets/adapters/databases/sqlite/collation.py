"""Which values of a key SQLite takes for equal: by the collation of the index that enforces it, and numbers of whichever kind by what they are worth."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from incremental_assets.adapters.databases.sqlite.sql import identifier, names
from incremental_assets.adapters.databases.sqlite.types import Stored, is_unicode, number_of, printed
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.table import TableSpec

BINARY = "BINARY"
"""The collation of a column for which none is named."""
_NUMBERS = "numbers"
"""The word for a column of no type, which holds 1 and 1.0 as they come."""
_LETTERS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def compared(column: Column, collation: str, *, strict: bool) -> Column:
    """The column as a collation compares it."""
    if column.spark_type != "string":
        return column
    name = collation.upper()
    if name not in _FOLDS:
        return replace(column, no_key=f"the collation {collation} is the application's own, which nobody else knows")
    words = [] if name == BINARY else [name.lower()]
    words += [_NUMBERS] if _keeps_numbers(column.source_type, strict=strict) else []
    return replace(column, collation=" ".join(words))


def column_collations(sql: str, columns: Sequence[str]) -> Mapping[str, str]:
    """The collations of a table's columns by the text that made it; those that are not named have the default."""
    if "COLLATE" not in sql.upper():
        return {}
    alone = sqlite3.connect(":memory:")
    try:
        # The library tells them of indexes alone.
        alone.execute(sql)
        (table,) = alone.execute("SELECT tbl_name FROM sqlite_schema WHERE sql IS NOT NULL").fetchone()
        alone.execute(f"CREATE INDEX _sync_collations ON {identifier(table)} ({names(columns)})")
        return dict(alone.execute("SELECT name, coll FROM pragma_index_xinfo('_sync_collations') WHERE key").fetchall())
    except sqlite3.Error:
        # Made with something of the application's own: its indexes say what they compare by.
        return {}
    finally:
        alone.close()


def collation_key(spec: TableSpec, names: Sequence[str]) -> Callable[[Sequence[Stored]], str | None] | None:
    """Makes one text of the key of a row with columns of these names, equal where the library takes keys for equal, and None where a part is NULL.

    None for a table that has no collation key. It is asked once for a read, and what it returns for each row.
    """
    column = spec.collation_key
    if column is None:
        return None
    of = [(names.index(each.name), each.collation.split(" ")) for each in column.of]

    def key(stored: Sequence[Stored]) -> str | None:
        if any(stored[place] is None for place, _ in of):
            return None
        parts = [_folded(words, stored[place]) for place, words in of]
        return parts[0] if len(parts) == 1 else ",".join(f"{len(part)}:{part}" for part in parts)

    return key


def _folded(words: Sequence[str], value: Stored) -> str:
    if isinstance(value, bytes) or not is_unicode(str(value)):
        # It cannot land, and is equal to nothing that can.
        return printed(value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape"))
    number = number_of(value) if _NUMBERS in words else None
    if number is not None:
        return number
    return _FOLDS[BINARY if words[0] == _NUMBERS else words[0].upper()](str(value))


def _keeps_numbers(declared: str, *, strict: bool) -> bool:
    """Whether a number is stored there as it comes: in a column of no type, and in one of any type where types are strict."""
    return declared == "any" or (strict and declared.upper() == "ANY")


def _letters_folded(text: str) -> str:
    compared, zero, _ = text.partition("\0")
    # It looks no further, and then at the lengths.
    return compared.translate(_LETTERS) + (f"{zero}{len(text.encode())}" if zero else "")


_FOLDS: Mapping[str, Callable[[str], str]] = {
    BINARY: lambda text: text,
    # The library's own fold the 26 letters alone, and strip spaces alone.
    "NOCASE": _letters_folded,
    "RTRIM": lambda text: text.rstrip(" "),
}
