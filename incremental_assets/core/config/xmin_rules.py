"""What must hold between `cursor: {type: xmin}` and the other keys of a table. Each mistake is a path below the table, and its cure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from incremental_assets.core.config.table_document import (
    CursorDocument,
    DefaultsDocument,
    TableDocument,
    TimePartitions,
)
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.strategies import Strategy, traits_of

Mistake = tuple[Path, str]

_OF_COLUMNS = ("column", "fallback", "zone", "nulls")


def mistakes(
    table: TableDocument, cursor: CursorDocument, strategy: Strategy, defaults: DefaultsDocument
) -> Iterator[Mistake]:
    """Of a table with such a cursor."""
    for key in _OF_COLUMNS:
        if key in cursor.model_fields_set:
            yield ("cursor", key), f"every row has its `xmin`, which is no column of the table's own; remove `{key}`"
    if not traits_of(strategy).one_row_per_key:
        # After 2^32 transactions the number of an old row may come again, and the row would be added for a second time.
        yield (
            ("strategy",),
            f"by `xmin` old rows are read again now and then, and `{strategy}` would add them again; write upsert",
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
        yield ("holdback",), "by `xmin` the source itself says what has settled; remove `holdback`"
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
