"""What must hold for tables of a source all of which are read by one capture of its own. Each mistake is a path below the table, and its cure."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.strategies import traits_of

_OF_DATABASES = (
    "cursor",
    "compare",
    "capture",
    "lookback",
    "holdback",
    "future",
    "start",
    "where",
    "column_names",
    "partitions",
    "refresh_every",
    "deletes",
    "rename",
)
"""Keys of tables that lie in a database, which is asked for them."""


def mistakes(table: TableDocument, dialect: str) -> Iterator[tuple[Path, str]]:
    """What only a database's tables have, and a strategy by which a copy would begin anew with each sync."""
    if table.strategy is not None and traits_of(table.strategy).overwrites:
        yield (
            ("strategy",),
            f"a table of {dialect} goes on from where it was read, and `{table.strategy}` begins anew; write upsert or append",
        )
    for key in _OF_DATABASES:
        if key in table.model_fields_set:
            yield (key,), f"`{key}` is for tables of a database, and this source is {dialect}; remove it"
