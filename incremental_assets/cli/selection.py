"""All tables that a command may select: resolved against the source, or the reason why that failed."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from incremental_assets.cli.answer import FAILED, WRONG, Answer, Note, worst
from incremental_assets.cli.globs import chosen, matches
from incremental_assets.core.config.resolve import Resolved, Unresolved, resolve_all, vanished
from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import (
    ConfigurationError,
    IncrementalAssetsError,
    SelectionError,
    SourceRefused,
    SourceUnreachable,
)
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint

if TYPE_CHECKING:
    from incremental_assets.adapters.databases.probe import SqlProbe
    from incremental_assets.resources.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Trouble:
    """A table that cannot be worked on, and why; `error` is of the family."""

    table: TableId
    terms: TableConfig
    error: IncrementalAssetsError


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """The problem of a source, in one sentence."""

    source: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected tables. `unreachable` says, by source, why its tables were not queried."""

    specs: tuple[TableSpec, ...]
    troubles: tuple[Trouble, ...]
    unreachable: dict[str, IncrementalAssetsError]
    problems: tuple[SourceProblem, ...] = ()
    """Problems of a source as a whole, which belong to no table."""
    positions: Mapping[TableId, Checkpoint] = field(default_factory=dict)
    """Where every table stood when the sources were asked."""

    @property
    def tables(self) -> tuple[TableId, ...]:
        """All of them, whether they can be worked on or not."""
        return (*(spec.id for spec in self.specs), *(trouble.table for trouble in self.troubles))

    def of(self, source: str) -> tuple[TableSpec, ...]:
        """The tables of one source that can be worked on."""
        return tuple(spec for spec in self.specs if spec.id.source == source)

    def among(self, tables: Container[TableId]) -> Selection:
        """Of these tables alone."""
        return replace(
            self,
            specs=tuple(spec for spec in self.specs if spec.id in tables),
            troubles=tuple(trouble for trouble in self.troubles if trouble.table in tables),
        )


def selected(runtime: Runtime, patterns: Sequence[str], *, option: str = "--select") -> Selection:
    """Ask each source for its catalogue; one that does not answer, or whose secret cannot be had, does not stop the others. SelectionError for a pattern without a match, with the `option` that it was given by."""
    found = _asked(runtime, runtime.configuration.sources)
    return found.among(_wanted(patterns, found.tables, found.unreachable, option))


def selected_of(runtime: Runtime, patterns: Sequence[str], sources: Sequence[SourceConfig]) -> Selection:
    """The same of some sources, in which a pattern may match nothing."""
    found = _asked(runtime, sources)
    return found.among(
        {each for each in found.tables if not patterns or any(matches(pattern, each) for pattern in patterns)}
    )


def _asked(runtime: Runtime, sources: Sequence[SourceConfig]) -> Selection:
    """All tables of these sources."""
    specs: list[TableSpec] = []
    troubles: list[Trouble] = []
    unreachable: dict[str, IncrementalAssetsError] = {}
    problems: list[SourceProblem] = []
    positions = runtime.checkpoints.positions()
    for source in sources:
        try:
            resolved = runtime.specs(source.name)
            absent = (*absent_schemas(source, resolved, runtime.database), *unmatched(source, resolved))
        except (SourceUnreachable, SourceRefused, ConfigurationError) as error:
            unreachable[source.name] = error
            known = known_tables(runtime, source)
            troubles += (Trouble(table, terms_of(source, table), error) for table in known)
            if not known:
                problems.append(SourceProblem(source.name, str(error)))
            continue
        broken = _troubles(source, (*resolved.problems, *vanished(source, resolved, positions)))
        shows_none = not (resolved.specs or broken or absent)
        problems += [
            SourceProblem(source.name, each) for each in (*absent, *([_no_table(source)] if shows_none else []))
        ]
        specs += resolved.specs
        troubles += broken
    return Selection(tuple(specs), tuple(troubles), unreachable, tuple(problems), positions)


def remembered(runtime: Runtime, patterns: Sequence[str]) -> Selection:
    """The same without asking any source: from the configuration and the catalogue last seen."""
    specs: list[TableSpec] = []
    troubles: list[Trouble] = []
    positions = runtime.checkpoints.positions()
    for source in runtime.configuration.sources:
        resolved = resolve_all(source, runtime.checkpoints.catalogue(source.name) or ()).as_landed(positions)
        specs += resolved.specs
        troubles += _troubles(source, (*resolved.problems, *vanished(source, resolved, positions)))
    found = Selection(tuple(specs), tuple(troubles), {}, positions=positions)
    return found.among(_wanted(patterns, found.tables, {}, "--select"))


def with_problems(answer: Answer, found: Selection) -> Answer:
    """The answer with the problems of whole sources: shown last, and a failure. Where a reference leads to no value, the exit status says that the configuration is wrong."""
    silent = {trouble.table.source for trouble in found.troubles} | {each.source for each in found.problems}
    wrong = [name for name, why in found.unreachable.items() if isinstance(why, ConfigurationError) and name in silent]
    codes = [answer.exit_code, *(WRONG for _ in wrong)]
    if not found.problems:
        return replace(answer, exit_code=worst(codes))
    document = {**answer.document, "problems": [asdict(each) for each in found.problems]}
    notes = [Note(each.sentence, "bad") for each in found.problems]
    return Answer(document, (*answer.shown, *notes), worst([*codes, FAILED]))


def unworkable(found: Selection) -> tuple[str, ...]:
    """What keeps selected tables, or a source as a whole, from being worked on: each sentence once."""
    sentences = (*(str(each.error) for each in found.troubles), *(each.sentence for each in found.problems))
    return tuple(dict.fromkeys(sentences))


def absent_schemas(
    source: SourceConfig, resolved: Resolved, database: Callable[[str], SqlProbe | None]
) -> tuple[str, ...]:
    """One sentence for each schema of the configuration that the source does not have. Asks only where a schema shows no table."""
    shown = {*(spec.id.schema for spec in resolved.specs), *(problem.table.schema for problem in resolved.problems)}
    empty = [schema for schema in source.schemas if schema not in shown]
    found = database(source.name) if empty and source.unlisted != "ignore" else None
    if found is None:
        return ()
    return tuple(
        f"{source.name}: the database has no schema {schema!r}, so nothing of it is synced; correct `schemas`, or create it there"
        for schema in found.missing_schemas(empty)
    )


def unmatched(source: SourceConfig, resolved: Resolved) -> tuple[str, ...]:
    """One sentence for each glob that stands for no table of the source."""
    tables = [*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems)]
    return tuple(
        f"{source.name}: {each.terms.place}: no table is like {each.match}, so nothing of it is synced; correct the glob, or check what the user may read"
        for each in source.matches
        if not any(each.match.stands_for(table) for table in tables)
    )


def _no_table(source: SourceConfig) -> str:
    """An emptied file, another database and a user without grants look the same from here."""
    if source.unlisted == "ignore":
        return f"{source.name}: there is nothing to sync, as the file lists no table and `unlisted: ignore` leaves out all others; list one"
    return (
        f"{source.name}: there is nothing to sync, as the file lists no table and the source shows this user none that `exclude` leaves; "
        "check `database`, `schemas` and what the user may read"
    )


def _troubles(source: SourceConfig, problems: Sequence[Unresolved]) -> list[Trouble]:
    return [Trouble(each.table, terms_of(source, each.table), each.error) for each in problems]


def known_tables(runtime: Runtime, source: SourceConfig) -> tuple[TableId, ...]:
    """The tables that the file lists, and those of the last seen catalogue."""
    resolved = resolve_all(source, runtime.checkpoints.catalogue(source.name) or ())
    return (*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems))


def _wanted(
    patterns: Sequence[str], tables: Sequence[TableId], unreachable: dict[str, IncrementalAssetsError], option: str
) -> frozenset[TableId]:
    try:
        return chosen(patterns, tables, option=option)
    except SelectionError:
        # It may name a table of a source that could not be queried.
        for error in unreachable.values():
            raise error from None
        raise
