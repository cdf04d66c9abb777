"""What must hold of the names of copies in data catalogues: one name for each table, and a lake that a catalogue's readers reach. Each mistake has its path, and its cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from incremental_assets.core.config.addresses import bucket_of
from incremental_assets.core.config.document import SourceDocument
from incremental_assets.core.config.register_document import RegisterDocument, registrations_of
from incremental_assets.core.config.yaml_source import Path
from incremental_assets.core.model.registration import Registration
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_match import TableMatch, is_glob

Mistake = tuple[Path, str]
Said = RegisterDocument | Literal["never"] | None
"""What is written at a table, or at a source."""


@dataclass(frozen=True, slots=True)
class Named:
    """A table that is listed, where it stands in the file, and what is said of its names: at it, or at its source."""

    table: TableId
    path: Path
    line: int
    own: Said
    of_source: Said
    keeps_history: bool

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """Those that count: its own replace those of its source."""
        return registrations_of(self.own or self.of_source)


def source_mistakes(source: SourceDocument) -> Iterator[Mistake]:
    """One name for all of its tables."""
    for each in registrations_of(source.register_):
        if "{table}" not in each.table.text:
            yield (
                ("register", str(each.kind), "table"),
                "all tables of this source would have one name; write `{table}` into it",
            )


def match_mistakes(match: TableMatch, register: Said) -> Iterator[Mistake]:
    """One name for several tables that a glob stands for."""
    globs = {"schema": match.schema, "table": match.name}
    for each in registrations_of(register):
        written = f"{each.database}.{each.table}"
        absent = [f"`{{{name}}}`" for name, glob in globs.items() if is_glob(glob) and f"{{{name}}}" not in written]
        if absent:
            yield (
                ("register", str(each.kind), "table"),
                f"several tables that this glob stands for would have one name; write {' and '.join(absent)} into it",
            )


def place_mistakes(register: Said, lake: str) -> Iterator[Mistake]:
    """A lake that those who ask AWS Glue cannot read."""
    if isinstance(register, RegisterDocument) and register.glue is not None and not bucket_of(lake):
        yield (
            ("register", "glue"),
            "those who ask AWS Glue read S3 alone, and the lake is elsewhere; write `lake: s3://…`, or remove it",
        )


def mistakes(tables: Iterable[Named]) -> Iterator[Mistake]:
    """Tables of one name, whose second would never be made known: also of two sources, and where names become one as no catalogue takes their characters."""
    taken: dict[object, Named] = {}
    for each in tables:
        for table in (each.table, each.table.history) if each.keeps_history else (each.table,):
            for registration in each.registrations:
                place = registration.of(table)
                first = taken.setdefault(place, each)
                if first is not each:
                    path = (*each.path, "register") if each.own else each.path
                    yield (
                        path,
                        f"{place} is the name of the table in line {first.line}; write another `register` at one of them",
                    )
