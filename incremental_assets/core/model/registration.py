"""Under which names copies are made known to data catalogues, and what is said of a copy there. Pure."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from incremental_assets.core.model.table_id import TableId

USUAL_NAME = "{schema}_{table}"
"""What a copy is called in a catalogue unless the configuration says otherwise."""
_HOLDERS = ("{source}", "{schema}", "{table}")
_FORM = "write small letters, digits, `_` and the names {source}, {schema} and {table}, as in {schema}_{table}"
_NAME = re.compile(r"(?:\{(?:source|schema|table)\}|[a-z0-9_])+")
_OTHER = re.compile(r"[^a-z0-9_]")
"""What a catalogue, or an engine that asks it, does not take in a name."""


class Catalogue(StrEnum):
    """Which kind of data catalogue, by the name that it has in the configuration."""

    GLUE = "glue"
    SPARK = "spark"
    """That of a Spark session: a Hive metastore, or Unity Catalog."""

    @property
    def words(self) -> str:
        """The same for people."""
        return {Catalogue.GLUE: "AWS Glue", Catalogue.SPARK: "Spark's catalogue"}[self]


@dataclass(frozen=True, slots=True)
class NameTemplate:
    """A name in a catalogue, in which names of the table may stand."""

    text: str

    @classmethod
    def parse(cls, text: str) -> NameTemplate:
        """`{schema}_{table}`; ValueError says how one is written."""
        if not _NAME.fullmatch(text):
            raise ValueError(_FORM)
        return cls(text)

    @classmethod
    def parse_database(cls, text: str) -> NameTemplate:
        """The same of `database`, or of `catalog.database`."""
        parts = text.split(".")
        if len(parts) > 2 or not all(map(_NAME.fullmatch, parts)):
            raise ValueError(f"write a database, or a catalogue and a database in it, as in main.lake; {_FORM}")
        return cls(text)

    def __str__(self) -> str:
        return self.text

    def of(self, table: TableId) -> str:
        """The name of a table: in small letters, and with `_` for every other character that no catalogue takes."""
        values = dict(zip(_HOLDERS, map(cleaned, (table.source, table.schema, table.name)), strict=True))
        return re.sub(r"\{\w+\}", lambda found: values[found[0]], self.text)


def cleaned(name: str) -> str:
    """The name as every catalogue takes it."""
    return _OTHER.sub("_", name.lower())


@dataclass(frozen=True, slots=True)
class Place:
    """A name in one catalogue."""

    kind: Catalogue
    database: str
    table: str
    region: str = ""

    @property
    def name(self) -> str:
        """As an engine calls it."""
        return f"{self.database}.{self.table}"

    def __str__(self) -> str:
        return f"{self.kind.words}{f' ({self.region})' if self.region else ''} as {self.name}"


@dataclass(frozen=True, slots=True)
class Registration:
    """How copies are named in one catalogue."""

    kind: Catalogue
    database: NameTemplate
    table: NameTemplate = NameTemplate(USUAL_NAME)
    region: str = ""
    """Of AWS; empty: as the store of the lake has it, or the environment says."""

    def of(self, table: TableId) -> Place:
        """The place of a table, or of its history."""
        return Place(self.kind, self.database.of(table), self.table.of(table), self.region)


class DescribedColumn(NamedTuple):
    """A column of a copy as its log has it; the type in Hive's words."""

    name: str
    type: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Described:
    """What is said of a copy in a catalogue."""

    location: str
    columns: tuple[DescribedColumn, ...]
    comment: str = ""

    @property
    def fingerprint(self) -> str:
        """By which a change of it is recognised."""
        return hashlib.sha256(repr((self.location, self.columns, self.comment)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Registered:
    """What is remembered of one table in one catalogue: how it was last made known there, or why it could not be."""

    table: TableId
    """The table of the source, or its history."""
    kind: Catalogue
    place: str
    """Where, as people read it."""
    fingerprint: str = ""
    """Of what was last said of it there; empty where nothing was."""
    problem: str = ""
    """Why it is not as it should be, and the cure; empty where it is."""
    at: datetime | None = None
    """When, on the clock of the checkpoint database, once it is recorded."""
