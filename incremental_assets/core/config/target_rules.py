"""What must hold of the places of copies in the lake: no two copies in one folder, and none in another. Each mistake has its path, and its cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.layout import USUAL, Layout, Matched, Taken, Target
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
class PlacedMatch:
    """A glob that says where the copies lie of the tables that it stands for, and where it stands in the file."""

    places: Matched
    path: Path
    line: int


@dataclass(frozen=True, slots=True)
class Around:
    """A source: where it puts the copies of its tables, whether it has others than those that are listed, and the places of its globs."""

    target: Target | None
    takes_others: bool
    matches: tuple[PlacedMatch, ...] = ()

    @property
    def usual(self) -> Target:
        """Where the copies lie of those tables of which nothing else is said."""
        return self.target or Target(USUAL)


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
        around = sources[each.table.source]
        # A table that is listed has none of a glob's terms.
        target = each.target or (around.usual if around.matches else None)
        if target is not None:
            own[each.table] = target
            own[each.table.history] = target.of_history
    matched = (match.places for around in sources.values() for match in around.matches)
    return Layout(
        own, {name: around.target for name, around in sources.items() if around.target is not None}, tuple(matched)
    )


def mistakes(tables: tuple[Placed, ...], sources: Mapping[str, Around]) -> Iterator[Mistake]:
    """Copies that would share a folder: of tables that are listed, and of any that a source may have."""
    places = layout(tables, sources)
    if not places.tables and not places.sources and not places.matched:
        return
    yield from _shared(tables, places)
    for each in tables:
        for name, around in sources.items():
            found = each.target
            if found is not None and name != each.table.source:
                yield from _beside(each, found, around, name)
    names = list(sources)
    for number, name in enumerate(names):
        for other in names[:number]:
            one, two = sources[name], sources[other]
            if (
                (one.target or two.target)
                and (one.takes_others or two.takes_others)
                and one.usual.may_meet(name, two.usual, other)
            ):
                cure = f"copies of {other if one.target else name} may lie in the same folders; write `{{source}}`, or a folder of its own, into it"
                yield ("sources", name if one.target else other, "target"), cure
            yield from _globs_beside(name, one, other, two)
            yield from _globs_beside(other, two, name, replace(one, matches=()))


def _beside(each: Placed, target: Target, around: Around, name: str) -> Iterator[Mistake]:
    """A table with a place of its own, and the tables of another source that are not listed."""
    if around.takes_others and target.may_meet(each.table.source, around.usual, name):
        yield (
            (*each.path, "target"),
            f"tables of {name} that are not listed may lie there, too ({around.usual}); write a folder that is none of theirs, or `unlisted: ignore` at {name}",
        )
    for match in around.matches:
        if target.may_meet(each.table.source, match.places.target, name):
            yield (
                (*each.path, "target"),
                f"tables that the glob in line {match.line} stands for may lie there, too ({match.places.target}); write a folder that is none of theirs",
            )


def _globs_beside(name: str, one: Around, other: str, two: Around) -> Iterator[Mistake]:
    """Globs of a source, and the places of another one's tables."""
    for match in one.matches:
        found = (two.usual, *(each.places.target for each in two.matches))
        if any(match.places.target.may_meet(name, target, other) for target in found):
            yield (
                (*match.path, "target"),
                f"copies of {other} may lie in the same folders; write `{{source}}`, or a folder of its own, into it",
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
