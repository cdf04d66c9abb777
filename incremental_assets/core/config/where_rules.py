"""What must hold of a table's `where`. Each mistake is a path below the table, and its cure."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.dialects import choosing, facts_of
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.where import parse_where
from incremental_assets.core.config.yaml_source import Path


def plain_mistakes(table: TableDocument) -> Iterator[tuple[Path, str]]:
    """A text that is no condition."""
    if table.where is None:
        return
    try:
        parse_where(table.where)
    except ValueError as error:
        yield ("where",), str(error)


def mistakes(table: TableDocument, dialect: str) -> Iterator[tuple[Path, str]]:
    """A database that is not asked for some rows only."""
    if table.where is not None and dialect and not facts_of(dialect).chooses_rows:
        yield (
            ("where",),
            f"some rows of a table are read of {', '.join(choosing())}, and this source is {dialect}; remove `where`, and list a view that shows these rows",
        )
