"""What must hold between `columns` and the keys beside it. Each mistake is a path below the table."""

from __future__ import annotations

from collections.abc import Iterator

from incremental_assets.core.config.table_document import DefaultColumnsDocument, TableDocument
from incremental_assets.core.config.yaml_source import Path

_ONE_BY_ONE = "columns are named one by one, and not by globs"


def column_mistakes(table: TableDocument) -> Iterator[tuple[Path, str]]:
    """The mistakes that show without the source. Whether it has these columns is checked when its catalogue is read."""
    columns = table.columns
    for key, names in (("include", columns.include or ()), ("exclude", columns.exclude)):
        if "*" in names:
            yield ("columns", key, names.index("*")), f"{_ONE_BY_ONE}; write their names, or remove `columns`"
    yield from _renamed(table)
    yield from _masked(table)
    if columns.include is not None and columns.exclude:
        yield ("columns",), "`include` says of itself which columns are left out; remove `exclude`, or `include`"
        return
    for key, name in _needed(table):
        if name in columns.exclude:
            yield ("columns", "exclude"), f"the table is synced by {name!r} (`{key}`); remove it from `exclude`"
        elif columns.include is not None and name not in columns.include:
            yield ("columns", "include"), f"the table is synced by {name!r} (`{key}`); add it to `include`"


def default_column_mistakes(columns: DefaultColumnsDocument) -> Iterator[tuple[Path, str]]:
    """A glob would leave out nothing, as it is nobody's name: what was meant to stay behind would be read."""
    for number, name in enumerate(columns.exclude):
        if "*" in name or "?" in name:
            yield (
                ("columns", "exclude", number),
                f"{_ONE_BY_ONE}; write their names, or a name that holds this character at its table",
            )


def _masked(table: TableDocument) -> Iterator[tuple[Path, str]]:
    """Of columns that are not read, or by whose values the table is synced, none can be masked."""
    columns, needed = table.columns, {name: key for key, name in _needed(table)}
    for name in columns.mask:
        at = ("columns", "mask", name)
        if name in needed:
            yield (
                at,
                f"the table is synced by {name!r} (`{needed[name]}`), whose values must land as they are; remove it from `mask`",
            )
        elif name in columns.exclude or (columns.include is not None and name not in columns.include):
            yield at, f"{name!r} is not read, so that there is nothing to mask; remove it from `mask`"


def _renamed(table: TableDocument) -> Iterator[tuple[Path, str]]:
    names = [name.lower() for name in (*table.rename, *table.rename.values())]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        yield (
            ("rename",),
            f"{twice!r} stands here twice; each column has one old name and one new one, and none takes another's",
        )


def _needed(table: TableDocument) -> Iterator[tuple[str, str]]:
    if table.cursor is not None:
        if table.cursor.column is not None:
            yield "cursor", table.cursor.column
        if table.cursor.fallback is not None:
            yield "fallback", table.cursor.fallback
    yield from (("primary_key", name) for name in table.primary_key or ())
    if table.deletes.column is not None:
        yield "deletes", table.deletes.column
    if isinstance(table.contract, dict):
        yield from (("contract", name) for name in table.contract)
