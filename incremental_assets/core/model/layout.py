"""Where copies lie in the lake, of tables and sources that say so themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from incremental_assets.core.model.history import SUFFIX
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_match import TableMatch

USUAL = "{source}/{schema}/{table}"
"""Where a copy lies unless the configuration says otherwise."""
_HOLDERS = ("{source}", "{schema}", "{table}")
_FORM = "write folders of the lake like gold/{table}, of letters, digits, `_`, `.`, `-` and the names {source}, {schema} and {table}"
_SEGMENT = re.compile(r"(?:\{(?:source|schema|table)\}|[A-Za-z0-9_.-])+")


@dataclass(frozen=True, slots=True)
class Target:
    """Folders below the lake, in which names of the table may stand."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Target:
        """`gold/{table}`; ValueError says how one is written."""
        for segment in text.split("/"):
            if not segment:
                raise ValueError(f"a folder without a name: {_FORM}")
            if not _SEGMENT.fullmatch(segment):
                raise ValueError(f"{segment!r} cannot be a folder: {_FORM}")
            if segment[0] in "_.":
                raise ValueError(
                    f"readers of a lake skip a folder like {segment!r}, which begins with `_` or `.`; {_FORM}"
                )
        return cls(text)

    def __str__(self) -> str:
        return self.text

    @property
    def names_tables(self) -> bool:
        """Whether two tables of one schema have two places."""
        return "{table}" in self.text

    @property
    def of_history(self) -> Target:
        """Where the history lies of a table whose copy lies here: beside it."""
        return self if self.names_tables else Target(f"{self.text}{SUFFIX}")

    def segments(self, table: TableId) -> tuple[str, ...]:
        """The folders of a table, one in the other."""
        values = dict(zip(_HOLDERS, (table.source, table.schema, table.name), strict=True))
        return tuple(re.sub(r"\{\w+\}", lambda found: values[found[0]], segment) for segment in self.text.split("/"))

    def of(self, table: TableId) -> str:
        """The same for people, and to keep."""
        return "/".join(self.segments(table))

    def may_meet(self, source: str, other: Target, of: str) -> bool:
        """Whether some table of the one source could lie where, or in or around where, one of the other does."""
        return all(
            _may_be(mine.replace("{source}", source), theirs.replace("{source}", of))
            for mine, theirs in zip(self.text.split("/"), other.text.split("/"), strict=False)
        )


def _may_be(one: str, other: str) -> bool:
    """Whether two folders could have one name: by what stands before the first name of a table in it, and behind the last."""
    if "{" not in one and "{" not in other:
        return one.lower() == other.lower()
    (head, tail), (others_head, others_tail) = _ends(one.lower()), _ends(other.lower())
    heads = head.startswith(others_head) or others_head.startswith(head)
    return heads and (tail.endswith(others_tail) or others_tail.endswith(tail))


def _ends(folder: str) -> tuple[str, str]:
    """Those of a folder without a name of the table are itself."""
    return folder.partition("{")[0], folder.rpartition("}")[2]


@dataclass(frozen=True, slots=True)
class Matched:
    """The place of each table of a source that a glob stands for."""

    source: str
    match: TableMatch
    target: Target
    keeps_history: bool

    def of(self, table: TableId) -> Target | None:
        """Where the copy lies, also of a history; None where the glob does not stand for the table."""
        if table.source != self.source:
            return None
        if self.keeps_history and self.stands_for_history(table):
            return self.target.of_history
        return self.target if self.match.stands_for(table) else None

    def stands_for_history(self, table: TableId) -> bool:
        """Whether the table has the name of a history that the glob brings."""
        name = table.name.removesuffix(SUFFIX)
        return name not in ("", table.name) and self.match.stands_for(replace(table, name=name))


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of tables that have one of their own, of those that globs stand for, and of the others of a source."""

    tables: Mapping[TableId, Target] = field(default_factory=dict)
    sources: Mapping[str, Target] = field(default_factory=dict)
    matched: tuple[Matched, ...] = ()

    def target(self, table: TableId) -> Target | None:
        """Where its copy lies; None where that is as usual."""
        found = self.tables.get(table) or next(filter(None, (each.of(table) for each in self.matched)), None)
        return found or self.sources.get(table.source)

    def segments(self, table: TableId) -> tuple[str, ...]:
        """The folders of its copy. A history lies beside its copy."""
        found = self.target(table)
        return usual(table) if found is None else found.segments(table)


class LaidOut(str):
    """The address of a lake that knows where in it copies lie whose place the configuration names."""

    layout: Layout

    def __new__(cls, address: str, layout: Layout) -> LaidOut:
        made = super().__new__(cls, address)
        made.layout = layout
        return made

    def __reduce__(self) -> tuple[type[LaidOut], tuple[str, Layout]]:
        return LaidOut, (str(self), self.layout)


def layout_of(lake: str) -> Layout:
    """The layout of a lake; as usual where nothing is known of another."""
    return lake.layout if isinstance(lake, LaidOut) else Layout()


def usual(table: TableId) -> tuple[str, ...]:
    """Where a copy lies of which nothing else is said."""
    return table.source, table.schema, table.name


@dataclass(slots=True)
class Taken:
    """The folders that copies have taken so far; a disk may take names for one that differ by case alone."""

    _at: dict[tuple[str, ...], TableId] = field(default_factory=dict)
    _around: dict[tuple[str, ...], TableId] = field(default_factory=dict)

    def take(self, table: TableId, segments: tuple[str, ...]) -> TableId | None:
        """The table whose copy lies there already, or in it, or around it; None where the folder was free, and is taken now."""
        folded = tuple(each.lower() for each in segments)
        parts = [folded[:end] for end in range(1, len(folded) + 1)]
        found = self._around.get(folded) or next((self._at[part] for part in parts if part in self._at), None)
        if found is None:
            self._at[folded] = table
            self._around |= dict.fromkeys(parts, table)
        return found
