"""What must hold between `compare` and the other keys of a table. Each mistake is a path below the table, and its cure."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.deletes import DeleteMode
from incremental_assets.core.strategies import Strategy, traits_of

Mistake = tuple[Path, str]

_FOR_CURSORS = ("lookback", "holdback", "future", "start", "partitions")


def mistakes(table: TableDocument, strategy: Strategy) -> Iterator[Mistake]:
    """The mistakes of a table that has the key `compare`; none without it."""
    if table.compare is None:
        return
    if not traits_of(strategy).one_row_per_key:
        yield (
            ("compare",),
            f"`compare` is for `strategy: upsert`, and this is `{strategy}`; write upsert, or remove `compare`",
        )
        return
    if table.cursor is not None:
        yield ("compare",), "`compare` finds changes without a cursor, and this table has one; remove one of the two"
        return
    yield from without_cursor(table, "compared")
    if table.refresh_every is not None:
        yield (
            ("refresh_every",),
            "this table is compared, and `compare: {every: …}` says how often; remove `refresh_every`",
        )
    if "deletes" in table.model_fields_set:
        yield from _delete_mistakes(table)


def without_cursor(table: TableDocument, how: str) -> Iterator[Mistake]:
    """Keys that say nothing to a table without a cursor."""
    for key in _FOR_CURSORS:
        if key in table.model_fields_set and table.cursor is None:
            yield (key,), f"`{key}` is for tables with a cursor, this one is {how} whole; remove it, or add a cursor"


def _delete_mistakes(table: TableDocument) -> Iterator[Mistake]:
    mode = table.deletes.mode
    if mode is not DeleteMode.DIFF:
        yield (
            ("deletes",),
            f"`compare` finds what is gone by itself, and this is `mode: {mode}`; remove `deletes`, or write `mode: diff` with `then` or `max_fraction`",
        )
    elif table.deletes.every is not None:
        yield (
            ("deletes", "every"),
            "each comparison finds what is gone, and `compare: {every: …}` says how often; remove `every`",
        )
