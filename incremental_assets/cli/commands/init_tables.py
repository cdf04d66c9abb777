"""`init --tables`: tables of configured sources, proposed and written behind those that the file lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import DONE, FAILED, Answer, Note, Shown
from incremental_assets.cli.discovering import entry, proposals, shown
from incremental_assets.cli.globs import chosen, matches
from incremental_assets.cli.opening import HERE, config_option, config_path, configured, opened
from incremental_assets.cli.written_file import read_file, replace_file
from incremental_assets.core.config.added_tables import names, with_tables
from incremental_assets.core.config.settings import SourceConfig
from incremental_assets.core.config.terms import excludes, matches_of
from incremental_assets.core.config.yaml_places import NotWritten
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.discovery.written import entries, scalar
from incremental_assets.core.errors import SelectionError
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.words import agreeing, counted, listed

if TYPE_CHECKING:
    from incremental_assets.adapters.databases.probe import SqlProbe


@dataclass(frozen=True, slots=True)
class _NotAdded:
    """Proposals of one source that the file has no place for, and why."""

    source: str
    found: Sequence[Proposal]
    why: str


def run(config: Path | None, patterns: Sequence[str]) -> Answer:
    """Run the command."""
    if config_path(config) is None:
        raise SelectionError(
            f"there is no {HERE} in this folder to add tables to; write one with `incremental-assets init URL`, or name yours with --config"
        )
    with opened(configured(config)) as runtime:
        path = runtime.configuration.path.resolve()
        before = read_file(path)
        databases = [
            (source, database)
            for source in runtime.configuration.sources
            if (database := runtime.database(source.name)) is not None
        ]
        shapes = {
            shape.id: shape
            for source, database in databases
            for shape in database.catalogue()
            if shape.id.schema in source.schemas
        }
        for source, database in databases:
            _check_schemas(source, database, patterns, shapes.keys())
        wanted = chosen(patterns, shapes.keys(), option="--tables")
        there = {
            table: why
            for source, _ in databases
            for table in sorted(wanted)
            if table.source == source.name and (why := _known(source, table, before))
        }
        found = {
            source.name: proposals(
                database, [shapes[each] for each in wanted - there.keys() if each.source == source.name]
            )
            for source, database in databases
        }
    after, left = _written(before, found)
    if after != before:
        replace_file(path, before, after)
    return _answer(path, found, there, left)


def _check_schemas(
    source: SourceConfig, database: SqlProbe, patterns: Sequence[str], shown: Collection[TableId]
) -> None:
    """A glob over tables of a schema that the source does not read matches none, and the cure is another one than of a mistyped name."""
    lost = [each for each in patterns if not any(matches(each, table) for table in shown)]
    there = [schema for schema in database.schemas() if schema not in source.schemas] if lost else []
    for pattern in lost:
        schema, dot, _ = pattern.removeprefix(f"{source.name}.").partition(".")
        meant = [each for each in there if dot and fnmatchcase(each, schema)]
        if meant:
            raise SelectionError(
                f"--tables {pattern!r} matches no table that {source.name} reads, as it reads no schema {meant[0]}; "
                f"write `schemas: [{', '.join(map(scalar, (*source.schemas, *meant)))}]` at {source.name}"
            )


def _known(source: SourceConfig, table: TableId, text: str) -> str:
    """Why a table is not added, if it is not."""
    if matched := matches_of(source, table):
        return f"`match: {matched[0].match}` takes it"
    if any(config.id(source.name) == table for config in source.tables) or names(text, table):
        return "the file lists it"
    return "`exclude` leaves it out" if excludes(source, table) else ""


def _written(text: str, found: Mapping[str, Sequence[Proposal]]) -> tuple[str, list[_NotAdded]]:
    left = []
    for source, tables in found.items():
        some = [each for each in tables if each.terms is not None]
        if not some:
            continue
        try:
            text = with_tables(text, source, entries(some, ""))
        except NotWritten as why:
            left.append(_NotAdded(source, some, str(why)))
    return text, left


def _answer(
    path: Path, found: Mapping[str, Sequence[Proposal]], there: Mapping[TableId, str], left: Sequence[_NotAdded]
) -> Answer:
    every = [each for tables in found.values() for each in tables]
    not_added = [each for some in left for each in some.found]
    added = [each for each in every if each.terms is not None and each not in not_added]
    left_out = [each for each in every if each.terms is None]
    output: list[Shown] = shown(every) if every else []
    for each in left:
        output.append(Note(f"{each.source}: not written, as {each.why}; these are the entries:", "warn"))
        output.append(Note(entries(each.found, ""), wrap=False))
    output += [Note(f"{why}: {listed(tables)}", "dim") for why, tables in _by_reason(there.items())]
    next_steps = [
        f"incremental-assets {command}{config_option(path, HERE.resolve())}" for command in ("doctor", "plan", "sync")
    ]
    told = f"added {counted(len(added), 'table')} to {path}" if added else f"nothing to add to {path}"
    told += f": {listed([str(each.shape.id) for each in added])}" if added else ""
    told += f"; {counted(len(there), 'table')} {agreeing(len(there), 'was', 'were')} there already" if there else ""
    told += f"; {len(left_out)} left out" if left_out else ""
    output.append(Note(told + (f"; next: {', '.join(next_steps)}" if added else ""), "strong"))
    document = {
        "file": str(path),
        "tables": [{**entry(each), "added": each in added} for each in every],
        "already": [
            {"source": table.source, "table": f"{table.schema}.{table.name}", "why": there[table]}
            for table in sorted(there)
        ],
        "next": next_steps if added else [],
    }
    return Answer(document, output, FAILED if left else DONE)


def _by_reason(there: Iterable[tuple[TableId, str]]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for table, why in there:
        found.setdefault(why, []).append(str(table))
    return [*found.items()]
