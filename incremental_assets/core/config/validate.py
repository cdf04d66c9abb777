"""Every mistake of a document in one pass: each part is validated on its own, so that one bad value hides no other mistake."""

from __future__ import annotations

import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from incremental_assets.core.config import document as written
from incremental_assets.core.config import log_rules, match_rules, register_rules, table_document, target_rules
from incremental_assets.core.config import problems as config_problems
from incremental_assets.core.config import rules as config_rules
from incremental_assets.core.config.addresses import ignores_case, resolved_place
from incremental_assets.core.config.database_document import DatabaseDocument
from incremental_assets.core.config.dialects import is_brought_by_nobody
from incremental_assets.core.config.scalars import SOURCE_NAME
from incremental_assets.core.config.settings import LOG
from incremental_assets.core.config.shorthand import Direction, Shorthand
from incremental_assets.core.config.source_kinds import kind_named
from incremental_assets.core.config.yaml_source import Data, Document, Path
from incremental_assets.core.errors import Problem
from incremental_assets.core.model.history import SUFFIX, History
from incremental_assets.core.model.identifiers import parse_table, render_table
from incremental_assets.core.model.layout import Layout, Matched
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_match import TableMatch

T = TypeVar("T")

_SETTINGS = TypeAdapter(written.SettingsDocument)
_DIALECT: TypeAdapter[str] = TypeAdapter(written.Dialect)
_ENTRY: TypeAdapter[Shorthand | table_document.TableDocument | table_document.MatchDocument] = TypeAdapter(
    table_document.TableEntry
)


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """A table in full and its place; one that is excluded is not synced by these terms."""

    document: table_document.TableDocument
    path: Path
    line: int
    contract_line: int
    excluded: bool
    match: TableMatch | None = None
    """The glob, where these are the terms of each table that it stands for."""


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """A source, its line, and its tables without those that are excluded."""

    name: str
    document: written.SourceDocument
    tables: tuple[CheckedTable, ...]
    matches: tuple[tuple[TableMatch, CheckedTable], ...]
    line: int
    lines: Mapping[str, int]
    """The lines of its keys."""
    path: Path = ()

    @property
    def reads_log(self) -> bool:
        """Whether a table of it is read from its log."""
        return any(table.document.capture == LOG for table in self.tables)


@dataclass(frozen=True, slots=True)
class Checked:
    """The file, well-formed."""

    settings: written.SettingsDocument
    sources: tuple[CheckedSource, ...]
    store_lines: Mapping[str, int]
    """The line of each bucket."""
    channel_lines: Mapping[str, int]
    layout: Layout
    erasure_line: int = 0
    translation_line: int = 0


@dataclass(frozen=True, slots=True)
class _Part(Generic[T]):
    """What could be read of a part, and its keys that could not."""

    value: T | None
    broken: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Pass:
    """One pass over a document; `problems` grows on the way."""

    document: Document
    now: datetime
    problems: list[Problem]

    def add(self, path: Path, mistakes: Iterable[config_rules.Mistake]) -> None:
        self.problems.extend(self.document.problem((*path, *below), cure) for below, cure in mistakes)

    def read(self, adapter: TypeAdapter[T], data: Data, path: Path) -> _Part[T]:
        """The part at `path`, without the keys that are wrong, so that the others can still be compared."""
        try:
            return _Part(adapter.validate_python(data))
        except ValidationError as error:
            errors = error.errors(include_url=False)
        self.problems.extend(config_problems.problems(self.document, path, errors))
        if not isinstance(data, dict):
            return _Part(None)
        broken = frozenset(
            str(part) for error in errors for part in self.document.existing((*path, *error["loc"]))[len(path) :][:1]
        )
        try:
            return _Part(
                adapter.validate_python({key: value for key, value in data.items() if key not in broken}), broken
            )
        except ValidationError:
            return _Part(None)


def check(document: Document, folder: pathlib.Path, now: datetime, problems: list[Problem]) -> Checked | None:
    """The document's parts. What is wrong is added to `problems`; then the value is not whole, or None."""
    run = _Pass(document, now, problems)
    if not isinstance(document.data, dict):
        run.add((), [((), "write the keys lake, checkpoints and sources, each with its value")])
        return None
    settings = run.read(_SETTINGS, {key: value for key, value in document.data.items() if key != "sources"}, ()).value
    if settings is not None:
        run.add(
            (),
            (
                *config_rules.spark_mistakes(settings),
                *config_rules.store_mistakes(settings, _folders(document.data)),
                *config_rules.channel_mistakes(settings),
            ),
        )
    sources = _sources(run, document.data.get("sources"))
    if settings is None:
        return None
    for source in sources:
        if source.reads_log:
            run.add(source.path, log_rules.connection_mistakes(source.document))
            run.add(source.path, log_rules.place_mistakes(source.document, settings.lake))
    run.add(
        ("sources",),
        log_rules.slot_mistakes(
            {
                each.name: each.document
                for each in sources
                if each.reads_log and isinstance(each.document, DatabaseDocument)
            }
        ),
    )
    for source in sources:
        if (
            isinstance(source.document, DatabaseDocument)
            and source.document.ssh
            and config_rules.spark_is_elsewhere(settings)
        ):
            cure = "Spark's tasks reach a tunnel on this machine alone; remove `spark: {remote, master}`, or make the tunnel by `ssh -L` where they run"
            run.add(source.path, [(("ssh",), cure)])
    if ignores_case(resolved_place(settings.lake, folder)):
        _refuse_twins(run, sources)
    placed, around = _placed(sources), {each.name: _around(each) for each in sources}
    run.add((), target_rules.mistakes(placed, around))
    _check_names(run, sources, settings.lake)
    lines = {bucket: document.line(("stores", bucket)) for bucket in settings.stores}
    channels = {name: document.line(("notify", name)) for name in settings.notify}
    erasure = document.line(("erasure_key",)) if settings.erasure_key is not None else 0
    translation = document.line(("translation",)) if settings.translation is not None else 0
    layout = target_rules.layout(placed, around)
    return Checked(settings, sources, lines, channels, layout, erasure, translation)


def _folders(data: Data) -> tuple[str, ...]:
    """The folders of sources, also of those that have a mistake."""
    sources = data.get("sources") if isinstance(data, dict) else None
    found = sources.values() if isinstance(sources, dict) else ()
    folders = [each.get("folder") for each in found if isinstance(each, dict)]
    return tuple(each for each in folders if isinstance(each, str))


def _placed(sources: Iterable[CheckedSource]) -> tuple[target_rules.Placed, ...]:
    return tuple(
        target_rules.Placed(
            TableId(source.name, *parse_table(table.document.table)),
            table.path,
            table.line,
            table.document.target,
            table.document.history is not History.NONE,
        )
        for source in sources
        for table in source.tables
    )


def _check_names(run: _Pass, sources: Iterable[CheckedSource], lake: str) -> None:
    """What copies are called in data catalogues."""
    sources = tuple(sources)
    run.add((), register_rules.mistakes(_named(sources)))
    for source in sources:
        run.add(source.path, register_rules.place_mistakes(source.document.register_, lake))
        for table in (*source.tables, *(terms for _, terms in source.matches)):
            run.add(table.path, register_rules.place_mistakes(table.document.register_, lake))


def _named(sources: Iterable[CheckedSource]) -> Iterator[register_rules.Named]:
    for source in sources:
        for table in source.tables:
            found, keeps = table.document, table.document.history is not History.NONE
            name = TableId(source.name, *parse_table(found.table))
            yield register_rules.Named(name, table.path, table.line, found.register_, source.document.register_, keeps)


def _around(source: CheckedSource) -> target_rules.Around:
    takes_others = isinstance(source.document, DatabaseDocument) and source.document.unlisted == "full_refresh"
    matches = tuple(
        target_rules.PlacedMatch(
            Matched(source.name, match, terms.document.target, terms.document.history is not History.NONE),
            terms.path,
            terms.line,
        )
        for match, terms in source.matches
        if terms.document.target is not None
    )
    return target_rules.Around(source.document.target, takes_others, matches)


def _sources(run: _Pass, data: Data) -> tuple[CheckedSource, ...]:
    if not isinstance(data, dict) or not data:
        run.add((), [(("sources",), "write at least one source: `sources: {name: {dialect: postgresql, host: …, …}}`")])
        return ()
    for name in data:
        if not re.fullmatch(SOURCE_NAME, name):
            run.problems.append(
                run.document.key_problem(("sources", name), "a source's name is a letter, then letters, digits and _")
            )
    found = [source for name in data if (source := _source(run, name, data[name])) is not None]
    sources = tuple(each for source in found for each in _of_databases(source))
    _refuse_taken(run, sources, data)
    return sources


def _of_databases(source: CheckedSource) -> tuple[CheckedSource, ...]:
    """One source for each of its databases, where there are several."""
    names = source.document.databases if isinstance(source.document, DatabaseDocument) else None
    if names is None:
        return (source,)
    return tuple(
        replace(
            source,
            name=f"{source.name}_{name}",
            document=source.document.model_copy(update={"database": name, "databases": None}),
        )
        for name in names
    )


def _refuse_taken(run: _Pass, sources: Iterable[CheckedSource], written: Iterable[str]) -> None:
    taken = Counter(source.name for source in sources)
    for name in written:
        if taken[name] > 1:
            cure = "a database of another source has this name, behind that of its source; write another name"
            run.problems.append(run.document.key_problem(("sources", name), cure))


def _source(run: _Pass, name: str, data: Data) -> CheckedSource | None:
    path: Path = ("sources", name)
    entries: Data = []
    if isinstance(data, dict):
        entries = data.get("tables", entries)
        data = {key: value for key, value in data.items() if key != "tables"}
    dialect = config_problems.dialect_of(data)
    if is_brought_by_nobody(dialect):
        run.read(_DIALECT, dialect, (*path, "dialect"))
        return None
    kind = kind_named(dialect)
    part: _Part[written.SourceDocument] = run.read(TypeAdapter(kind.document), data, path)
    if part.value is not None:
        # A key that is misspelt is not missing as well.
        reported = {*part.broken, *(config_problems.meant(run.document, (*path, key)) for key in part.broken)}
        # Nor is the one database where several are written wrong.
        reported |= {"database"} & {each.removesuffix("s") for each in reported}
        mistakes = (
            *kind.mistakes(part.value, run.now),
            *config_rules.source_mistakes(part.value),
            *register_rules.source_mistakes(part.value),
        )
        run.add(path, (mistake for mistake in mistakes if mistake[0][0] not in reported))
    if not isinstance(entries, list):
        run.add(path, [(("tables",), "write a list of tables, each after a dash")])
        entries = []
    around = config_rules.Around.of(part.value, kind.capture)
    found = [_table(run, (*path, "tables", number), entry, around) for number, entry in enumerate(entries)]
    tables = [table for table in found if table is not None and table.match is None]
    matches = [(table.match, table) for table in found if table is not None and table.match is not None]
    _refuse_repeated(run, tables)
    run.add((), match_rules.repeated((match, table.path, table.line) for match, table in matches))
    _refuse_names_of_histories(run, (table for table in tables if not table.excluded))
    if part.value is None:
        return None
    if not part.broken & {"exclude", "unlisted"}:
        run.add(path, match_rules.exclude_mistakes(part.value, matches))
    return CheckedSource(
        name,
        part.value,
        tuple(table for table in tables if not table.excluded),
        tuple(matches),
        run.document.line(path),
        {key: run.document.line((*path, key)) for key in part.value.model_fields_set},
        path,
    )


def _table(run: _Pass, path: Path, data: Data, around: config_rules.Around) -> CheckedTable | None:
    part = run.read(_ENTRY, data, path)
    if part.value is None:
        return None
    table = _in_full(part.value)
    match = part.value.match if isinstance(part.value, table_document.MatchDocument) else None
    excluded = isinstance(part.value, Shorthand) and part.value.direction is Direction.EXCLUDE
    mistakes = [*config_rules.plain_mistakes(table), *(match_rules.mistakes(match, table, around) if match else ())]
    if not part.broken & {"compare", "cursor", "strategy"} and not excluded:
        mistakes += config_rules.cursor_mistakes(table, around, run.now)
    run.add(path, (mistake for mistake in mistakes if mistake[0][0] not in part.broken))
    if around.capture:
        table = table.model_copy(update={"capture": around.capture})
    line, contract_line = (run.document.line(each) for each in (path, (*path, "contract")))
    return CheckedTable(table, path, line, contract_line, excluded, match)


def _in_full(
    entry: Shorthand | table_document.TableDocument | table_document.MatchDocument,
) -> table_document.TableDocument:
    if isinstance(entry, table_document.MatchDocument):
        return entry.as_table
    return entry if isinstance(entry, table_document.TableDocument) else in_full(entry)


def _refuse_repeated(run: _Pass, tables: Iterable[CheckedTable]) -> None:
    first: dict[tuple[str, str], CheckedTable] = {}
    for table in tables:
        earlier = first.setdefault(parse_table(table.document.table), table)
        if earlier is not table:
            run.add(table.path, [((), f"this table is already listed in line {earlier.line}; keep one of them")])


def _refuse_names_of_histories(run: _Pass, tables: Iterable[CheckedTable]) -> None:
    tables = tuple(tables)
    kept = {
        (schema, f"{name}{SUFFIX}"): table.line
        for table in tables
        if table.document.history is not History.NONE
        for schema, name in (parse_table(table.document.table),)
    }
    for table in tables:
        line = kept.get(parse_table(table.document.table))
        if line is not None:
            cure = f"the history of the table in line {line} has this name; leave this table out, or that history"
            run.add(table.path, [((), cure)])


def _refuse_twins(run: _Pass, sources: Iterable[CheckedSource]) -> None:
    cure = "differ by case alone, and the lake's file system cannot tell them apart; keep one of them, or move the lake"
    spelt: dict[str, str] = {}
    for source in sources:
        if spelt.setdefault(source.name.lower(), source.name) != source.name:
            run.problems.append(run.document.key_problem(("sources", source.name), f"two sources {cure}"))
        for table in source.tables:
            name = f"{source.name}.{render_table(*parse_table(table.document.table))}"
            if spelt.setdefault(name.lower(), name) != name and spelt[source.name.lower()] == source.name:
                run.add(table.path, [((), f"two tables {cure}")])


def in_full(shorthand: Shorthand) -> table_document.TableDocument:
    """A shorthand as the table that it is short for."""
    return table_document.TableDocument(
        table=render_table(shorthand.schema, shorthand.name),
        cursor=table_document.CursorDocument(
            column=shorthand.column, type=table_document.CursorKind(shorthand.type.value)
        ),
        strategy=shorthand.strategy,
        **({} if shorthand.start is None else {"start": shorthand.start.text}),
    )
