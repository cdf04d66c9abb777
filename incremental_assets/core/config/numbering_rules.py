"""What must hold between a cursor by transactions (`xmin`, `rowversion`, `ora_rowscn`) and the other keys of a table, and its source.

Each mistake is a path below the table, and its cure.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from incremental_assets.core.config.dialects import facts_of, known_dialects
from incremental_assets.core.config.table_document import (
    CursorDocument,
    CursorKind,
    DefaultsDocument,
    TableDocument,
    TimePartitions,
)
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.strategies import Strategy, traits_of

Mistake = tuple[Path, str]

_OF_COLUMNS = ("column", "fallback", "zone", "nulls", "stamped")


def mistakes(
    table: TableDocument, cursor: CursorDocument, strategy: Strategy, dialect: str, defaults: DefaultsDocument
) -> Iterator[Mistake]:
    """The mistakes of a table with such a cursor; if it belongs to another database, that alone."""
    kind = cursor.type
    if facts_of(dialect).numbering != kind:
        yield ("cursor", "type"), _elsewhere(kind, dialect)
        return
    for key in _OF_COLUMNS:
        if key in cursor.model_fields_set:
            yield ("cursor", key), f"{_whose(kind)}; remove `{key}`"
    if not traits_of(strategy).one_row_per_key and kind is not CursorKind.ROWVERSION:
        # After 2^32 transactions the number of an old row may come again, as a neighbour's does to a row of the same block; the row would be added for a second time.
        yield (
            ("strategy",),
            f"by `{kind}` old rows are read again now and then, and `{strategy}` would add them again; write upsert",
        )
    if isinstance(table.partitions, TimePartitions):
        yield (
            ("partitions",),
            (
                "the number of a transaction is no time, and `every` is for time cursors; "
                "write `partitions: {size: 100000000}`, or remove the key"
            ),
        )
    if "holdback" in table.model_fields_set and table.holdback:
        yield ("holdback",), f"by `{kind}` the source itself says what has settled; remove `holdback`"
    if table.start is not None and not _is_whole(table.start):
        yield (
            ("start",),
            "the number of a transaction is no time, so that `start` is a whole number here; write one, or remove `start`",
        )
    lookback = table.lookback if "lookback" in table.model_fields_set else defaults.lookback
    if lookback and isinstance(lookback, timedelta):
        yield (
            ("lookback",),
            "the number of a transaction is no time, so that `lookback` is a whole number of transactions here; write one at this table, or `lookback: 0`",
        )


def _is_whole(text: str) -> bool:
    try:
        return CursorValue.parse(CursorType.INTEGER, text).is_finite
    except ValueError:
        return False


def _whose(kind: CursorKind) -> str:
    if kind is CursorKind.ROWVERSION:
        return "a table has one `rowversion`, which is found by its type and is never NULL"
    return f"every row has its `{kind}`, which is no column of the table's own"


def _elsewhere(kind: CursorKind, dialect: str) -> str:
    owner = next((name for name in known_dialects() if facts_of(name).numbering == kind), "another database")
    facts = facts_of(dialect)
    others = ["a cursor of another type"]
    if facts.numbering:
        others.insert(0, f"`type: {facts.numbering}`")
    others.append("`strategy: upsert` with `compare: {every: 1h}`" if facts.compares else "`strategy: full_refresh`")
    return (
        f"`{kind}` is a word of {owner}, and this source is {dialect}; write {', '.join(others[:-1])}, or {others[-1]}"
    )
