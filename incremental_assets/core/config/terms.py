"""The settings of one table of a source, listed or not."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from incremental_assets.core.config.settings import MatchConfig, SourceConfig, TableConfig, unlisted_table
from incremental_assets.core.model.identifiers import quote, render_table
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape


def terms_of(source: SourceConfig, table: TableId) -> TableConfig:
    """What the file says of the table, or of each that a glob stands for, or what the source's defaults say of one that it does not list."""
    listed = (config for config in source.tables if config.name == table.name and config.schema == table.schema)
    return next(listed, None) or unlisted_terms(source, table)


def unlisted_terms(source: SourceConfig, table: TableId) -> TableConfig:
    """The same of a table that is known not to be listed."""
    matched = (each.of(table) for each in matches_of(source, table))
    return next(matched, None) or unlisted_table(source, table.schema, table.name)


def all_terms(source: SourceConfig, shapes: Iterable[TableShape]) -> tuple[TableConfig, ...]:
    """Every table that is synced: the listed ones in the file's order, then those that only the catalogue shows, by name."""
    listed = {config.id(source.name) for config in source.tables}
    seen = {shape.id for shape in shapes if shape.id.source == source.name and takes(source, shape.id)}
    return (*source.tables, *(unlisted_terms(source, table) for table in sorted(seen - listed)))


def matches_of(source: SourceConfig, table: TableId) -> tuple[MatchConfig, ...]:
    """The globs that stand for a table, unless `exclude` does; a listed table has its own terms."""
    found = tuple(each for each in source.matches if each.match.stands_for(table))
    return () if not found or excludes(source, table) else found


def takes(source: SourceConfig, table: TableId) -> bool:
    """Whether a table that is not listed is copied: a glob stands for it, or such tables are wanted."""
    return bool(matches_of(source, table)) or takes_unlisted(source, table)


def takes_unlisted(source: SourceConfig, table: TableId) -> bool:
    """Whether a table that is not listed is read whole: unlisted ones are wanted, its schema is, and no glob of `exclude` stands for it."""
    # The catalogue also shows the schemas of listed tables, in which no others were asked for.
    return source.unlisted == "full_refresh" and table.schema in source.schemas and not excludes(source, table)


def excludes(source: SourceConfig, table: TableId) -> bool:
    """Whether a glob of `exclude` stands for it."""
    return any(_stands_for(pattern, table) for pattern in source.exclude)


def leaves_out_all(exclude: Iterable[str], schema: str) -> bool:
    """Whether one of the globs stands for every table that the schema could have: its `*` at the end begins within the schema's name."""
    beginnings = [f"{schema}."[:end] for end in range(len(schema) + 2)]
    return any(
        pattern.endswith("*") and any(fnmatchcase(beginning, pattern[:-1]) for beginning in beginnings)
        for pattern in exclude
    )


def _stands_for(pattern: str, table: TableId) -> bool:
    """A name that holds glob characters is matched by itself too."""
    names = (
        table.name,
        quote(table.name),
        f"{table.schema}.{table.name}",
        render_table(table.schema, table.name),
    )
    return any(pattern == name or fnmatchcase(name, pattern) for name in names)
