"""`discover`: what a configured source has and the file does not list, proposed as entries for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import Answer, Note, Shown
from incremental_assets.cli.discovering import entry, proposals, shown
from incremental_assets.cli.globs import chosen
from incremental_assets.cli.opening import configured, opened
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.config.terms import matches_of
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.discovery.written import entries

if TYPE_CHECKING:
    from incremental_assets.core.model.table_shape import TableShape
    from incremental_assets.resources.runtime import Runtime


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        databases = {each.name: runtime.database(each.name) for each in runtime.configuration.sources}
        missing = {
            source.name: _unlisted(runtime, source)
            for source in runtime.configuration.sources
            if databases[source.name] is not None
        }
        wanted = chosen(patterns, [shape.id for shapes in missing.values() for shape in shapes])
        found = {
            source: proposals(database, [shape for shape in missing[source] if shape.id in wanted])
            for source, database in databases.items()
            if database is not None
        }
    return _answer(found)


def _unlisted(runtime: Runtime, source: SourceConfig) -> tuple[TableShape, ...]:
    """The unlisted tables in the schemas of the source, by its catalogue of now, which is recorded for Dagster's definitions."""
    runtime.specs(source.name)
    listed = {terms.id(source.name) for terms in source.tables}
    shapes = runtime.probe(source.name).catalogue()
    unlisted = (shape for shape in shapes if shape.id not in listed and not matches_of(source, shape.id))
    return tuple(shape for shape in unlisted if shape.id.schema in source.schemas)


def _answer(found: dict[str, tuple[Proposal, ...]]) -> Answer:
    output: list[Shown] = []
    for source, tables in found.items():
        if not tables:
            output.append(Note(f"{source}: every table is listed", "good"))
            continue
        output += shown(tables)
        output.append(Note(f"# below `tables:` of {source}\n{entries(tables, '      ')}", wrap=False))
    document = {
        "tables": [entry(each) for tables in found.values() for each in tables],
        "yaml": {source: entries(tables, "      ") for source, tables in found.items()},
    }
    return Answer(document, output)
