"""What must hold of `match`, whose terms are those of several tables. Each mistake is a path, and its cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from incremental_assets.core.config import register_rules
from incremental_assets.core.config.database_document import DatabaseDocument
from incremental_assets.core.config.dialects import facts_of, listing
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.rules import Around
from incremental_assets.core.config.table_document import TableDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.table_match import TableMatch, is_glob

Mistake = tuple[Path, str]


def mistakes(match: TableMatch, terms: TableDocument, around: Around) -> Iterator[Mistake]:
    """Terms that only one table can have, and schemas of which nobody is asked."""
    if around.capture:
        yield ("match",), f"the tables of {around.dialect} are listed one by one; write `table` in place of `match`"
        return
    if around.dialect and is_glob(match.schema) and not facts_of(around.dialect).lists_schemas:
        yield (
            ("match",),
            f"a glob stands for schemas of {', '.join(listing())}, and this source is {around.dialect}; write one entry for each schema",
        )
    if terms.capture is not None:
        yield (
            ("capture",),
            "tables that are read from the log are listed one by one, as the source keeps its log for each; write `table` in place of `match`, or remove `capture`",
        )
    if terms.target is not None:
        globs = {"schema": match.schema, "table": match.name}
        absent = [
            f"`{{{name}}}`" for name, glob in globs.items() if is_glob(glob) and f"{{{name}}}" not in terms.target.text
        ]
        if absent:
            yield (
                ("target",),
                f"several tables that this glob stands for would lie in one folder; write {' and '.join(absent)} into it",
            )
    yield from register_rules.match_mistakes(match, terms.register_)
    if terms.rename:
        yield ("rename",), "a column is renamed in one table at a time; list that table with its `rename`"


def exclude_mistakes(source: SourceDocument, matches: Sequence[object]) -> Iterator[Mistake]:
    """Globs of `exclude` where neither a glob nor the source takes a table that is not listed."""
    if isinstance(source, DatabaseDocument) and source.exclude and source.unlisted == "ignore" and not matches:
        yield ("exclude",), "with `unlisted: ignore` no table is taken that is not listed; remove one of the two"


def repeated(matches: Iterable[tuple[TableMatch, Path, int]]) -> Iterator[Mistake]:
    """A glob that is written twice; of two that meet in a table, that table speaks once it is there."""
    lines: dict[TableMatch, int] = {}
    for match, path, line in matches:
        if lines.setdefault(match, line) != line:
            yield (*path, "match"), f"this glob is already written in line {lines[match]}; keep one of them"
