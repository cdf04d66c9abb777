"""What the log says of a table before its first row: the message `R`, and how its columns are read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.adapters.logs.postgresql.wire import UTF8, Wire
from incremental_assets.core.model.column import Column, Fidelity

_PART_OF_IDENTITY = 1


class Identity(StrEnum):
    """What of a row the log shows before it is changed: the table's REPLICA IDENTITY."""

    DEFAULT = "d"
    NOTHING = "n"
    FULL = "f"
    INDEX = "i"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column as the log names it: number and modifier of its type."""

    name: str
    type: int
    modifier: int
    identifies: bool
    """Whether a row's old value of it is sent."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as it was when the rows after this message were written."""

    oid: int
    schema: str
    name: str
    identity: Identity
    attributes: tuple[Attribute, ...]

    @classmethod
    def parse(cls, message: bytes, wire: Wire = UTF8) -> Relation:
        """From a message `R`, its first letter included."""
        oid = int.from_bytes(message[1:5])
        schema, at = _text(message, 5, wire)
        name, at = _text(message, at, wire)
        identity, count, at = Identity(chr(message[at])), int.from_bytes(message[at + 1 : at + 3]), at + 3
        attributes = []
        for _ in range(count):
            flags = message[at]
            column, at = _text(message, at + 1, wire)
            modifier = int.from_bytes(message[at + 4 : at + 8], signed=True)
            attributes.append(
                Attribute(column, int.from_bytes(message[at : at + 4]), modifier, bool(flags & _PART_OF_IDENTITY))
            )
            at += 8
        # What the catalogue's own schema is called is left out by the server.
        return cls(oid, schema or "pg_catalog", name, identity, tuple(attributes))


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of the source: the Spark type that its values have in a copy, and whether its binary format is read here."""

    source_type: str
    spark_type: str
    fidelity: Fidelity
    binary: bool
    encoding: str = ""
    """The database's, where a text of the type may be no UTF-8 and comes as it is stored; empty where none can."""
    refused: str = ""
    """Why a value of it in the log may not be what a snapshot shows, with the cure; empty where it is."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A relation, the places of those of its columns that are read, and their kinds."""

    relation: Relation
    places: tuple[int, ...]
    kinds: tuple[Kind, ...]

    @property
    def number(self) -> int:
        """What the source numbers the table by."""
        return self.relation.oid

    @property
    def place(self) -> tuple[str, str]:
        """Its schema and its name."""
        return self.relation.schema, self.relation.name

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns that are read, in the table's order."""
        return tuple(self.relation.attributes[place].name for place in self.places)

    @property
    def columns(self) -> tuple[Column, ...]:
        """As a snapshot's catalogue has them, by name and type."""
        pairs = zip(self.names, self.kinds, strict=True)
        return tuple(
            Column(name, kind.source_type, kind.spark_type, kind.fidelity, encoding=kind.encoding)
            for name, kind in pairs
        )


def _text(message: bytes, at: int, wire: Wire) -> tuple[str, int]:
    end = message.index(0, at)
    return wire.text(message[at:end]), end + 1
