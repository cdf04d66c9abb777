"""What must hold of the places of copies in the lake: no two copies in one folder, and none in another. Each mistake has its path, and its cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.layout import USUAL, Layout, Taken, Target
from incremental_assets.core.model.table_id import TableId

Mistake = tuple[Path, str]


@dataclass(frozen=True, slots=True)
class Placed:
    """A table that is listed, where it stands in the file, and where its copy is to lie, if it says so itself."""

    table: TableId
    path: Path
    line: int
    target: Target | None
    keeps_history: bool


@dataclass(frozen=True, slots=True)
class Around:
    """A source: where it puts the copies of its tables, and whether it has others than those that are listed."""

    target: Target | None
    takes_others: bool


def source_mistakes(source: SourceDocument) -> Iterator[Mistake]:
    """One place for all of its tables."""
    if source.target is not None and not source.target.names_tables:
        yield (
            ("target",),
            "all tables of this source would lie in one folder; write `{table}` into it, and `{schema}` where there are several schemas",
        )


def layout(tables: Iterable[Placed], sources: Mapping[str, Around]) -> Layout:
    """The places that are written, of histories too."""
    own: dict[TableId, Target] = {}
    for each in tables:
        target = each.target
        if target is not None:
            own[each.table] = target
            own[each.table.history] = target.of_history
    return Layout(own, {name: around.target for name, around in sources.items() if around.target is not None})


def mistakes(tables: tuple[Placed, ...], sources: Mapping[str, Around]) -> Iterator[Mistake]:
    """Copies that would share a folder: of tables that are listed, and of any that a source may have."""
    places = layout(tables, sources)
    if not places.tables and not places.sources:
        return
    yield from _shared(tables, places)
    for each in tables:
        for name, around in sources.items():
            found = each.target
            if found is not None and name != each.table.source and _may_meet(found, each.table.source, around, name):
                yield (
                    (*each.path, "target"),
                    f"tables of {name} that are not listed may lie there, too ({around.target or USUAL}); write a folder that is none of theirs, or `unlisted: ignore` at {name}",
                )
    names = list(sources)
    for number, name in enumerate(names):
        for other in names[:number]:
            one, two = sources[name], sources[other]
            if one.target is None and two.target is None:
                continue
            if (one.takes_others or two.takes_others) and (one.target or Target(USUAL)).may_meet(
                name, two.target or Target(USUAL), other
            ):
                yield (
                    ("sources", name if one.target else other, "target"),
                    f"copies of {other if one.target else name} may lie in the same folders; write `{{source}}`, or a folder of its own, into it",
                )


def _shared(tables: tuple[Placed, ...], places: Layout) -> Iterator[Mistake]:
    taken, lines = Taken(), {each.table: each for each in tables}
    for each in tables:
        for table in (each.table, each.table.history) if each.keeps_history else (each.table,):
            segments = places.segments(table)
            found = taken.take(each.table, segments)
            if found not in (None, each.table) and (places.target(each.table) or places.target(found)):
                yield (
                    (*each.path, "target") if each.target else each.path,
                    f"its copy would lie in {'/'.join(segments)}, where that of the table in line {lines[found].line} lies; write another `target` at one of them",
                )
                break


def _may_meet(target: Target, source: str, around: Around, name: str) -> bool:
    return around.takes_others and target.may_meet(source, around.target or Target(USUAL), name)
