"""`--select`: globs over `source.schema.table` or `schema.table`, plain or quoted as in SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.alike import alike
from incremental_assets.core.model.identifiers import quote, render_table
from incremental_assets.core.model.table_id import TableId


def chosen(patterns: Sequence[str], tables: Collection[TableId], *, option: str = "--select") -> frozenset[TableId]:
    """The tables that some pattern matches, all of them without a pattern. SelectionError names the pattern that matches nothing."""
    if not patterns:
        return frozenset(tables)
    matched: set[TableId] = set()
    for pattern in patterns:
        found = [table for table in tables if matches(pattern, table)]
        if not found:
            raise SelectionError(f"{option} {pattern!r} matches no table; {_hint(pattern, tables)}")
        matched.update(found)
    return frozenset(matched)


def the_one(patterns: Sequence[str], tables: Collection[TableId]) -> TableId:
    """The only table that the patterns match. SelectionError where none was named, or several match."""
    found = sorted(chosen(patterns, tables))
    if len(patterns) == 0 or len(found) != 1:
        many = f"it matches {len(found)}" if patterns else "none was named"
        raise SelectionError(f"name one table with --select source.schema.table; {many}: {_listed(found)}")
    return found[0]


def matches(pattern: str, table: TableId) -> bool:
    """Whether the glob matches this table. A name that holds glob characters also matches itself."""
    return any(pattern == name or fnmatchcase(name, pattern) for name in _spellings(table))


def _spellings(table: TableId) -> Iterable[str]:
    quoted = render_table(table.schema, table.name)
    return dict.fromkeys((str(table), f"{table.schema}.{table.name}", f"{quote(table.source)}.{quoted}", quoted))


def _hint(pattern: str, tables: Collection[TableId]) -> str:
    near = alike(pattern, tables)
    return f"did you mean {near[0]}?" if near else f"the tables are: {_listed(sorted(map(str, tables)))}"


def _listed(names: Sequence[object]) -> str:
    return ", ".join(str(name) for name in names[:12]) + (", …" if len(names) > 12 else "") if names else "none"
