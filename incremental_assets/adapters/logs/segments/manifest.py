"""What a segment is: a range of the log, its transactions, and a file of changes for each table and each layout that it had."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

VERSION = 1
FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class Server:
    """Which log it is: what the server was made with, and the turn that its log has taken since."""

    system: str
    timeline: str


@dataclass(frozen=True, slots=True)
class Membership:
    """Whose changes the log had at a look: by a table's number, what changes when they were missing for a while."""

    publication: str
    tables: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Written:
    """A file of a segment."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column of a file: as the source and as Spark call its type."""

    name: str
    source_type: str
    spark_type: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Changes of one table under one layout, in their order. Pieces of a table follow each other as they are listed."""

    oid: int
    schema: str
    name: str
    columns: tuple[ReadColumn, ...]
    file: Written


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a log at a position: whatever is read next goes on from it. `number` grows with each."""

    number: int
    position: int
    server: Server
    membership: Membership
    binary: bool = True
    """Whether the source was last asked for the binary format, as every published type is read from it."""
    gtids: str = ""
    """The global numbers of all transactions before the position, where the source has such."""
    made: int = 0
    """When the file was begun that the position lies in, in seconds since 1970, where the log is in files that say so; 0: not known."""
    started: str = ""
    """When the source was started, by its own clock, where it says so."""
    last_xid: int = 0
    """The number of the last transaction that was read, with its epoch, where the source has such; 0: not known."""
    passes: str = ""
    """The global numbers of what was read on the server before, where this one has taken its place: its own log has them again."""


_NAME = re.compile("[0-9]{10,}-[0-9A-F]{16,}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A segment. Its range begins behind `begin` and ends with the commit that ends at `standing.position`."""

    begin: int
    follows: str
    """The name of the segment before it; empty for the first."""
    standing: Standing
    read_at: datetime
    last_commit_at: datetime | None
    transactions: Written
    pieces: tuple[Piece, ...]
    gaps: Mapping[int, str]
    """Of tables by their number, why changes before this segment's end may be missing from the log."""
    parts: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Of tables by their number, the partitions whose changes are among theirs, and perhaps others; empty where an earlier release has written it."""

    @property
    def end(self) -> int:
        """Behind its last commit."""
        return self.standing.position

    @property
    def before(self) -> int:
        """The end of the segment before it: between the two no table was changed."""
        return end_of(self.follows) if self.follows else 0

    @property
    def name(self) -> str:
        """Of its folder: names sort as ranges do."""
        return name_of(self.standing.number, self.end)

    def to_json(self) -> str:
        """As it is stored."""
        return json.dumps({"version": VERSION, **asdict(self)}, default=_stored, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """As it was stored. Raises ValueError, KeyError, TypeError where it was not."""
        found = json.loads(text)
        check_version(found)
        last = found["last_commit_at"]
        return cls(
            begin=found["begin"],
            follows=found["follows"],
            standing=standing_of(found["standing"]),
            read_at=datetime.fromisoformat(found["read_at"]),
            last_commit_at=None if last is None else datetime.fromisoformat(last),
            transactions=Written(**found["transactions"]),
            pieces=tuple(map(_piece, found["pieces"])),
            gaps={int(oid): why for oid, why in found["gaps"].items()},
            parts={int(oid): tuple(parts) for oid, parts in found.get("parts", {}).items()},
        )


def name_of(number: int, end: int) -> str:
    """The name of the folder of a segment."""
    return f"{number:010d}-{end:016X}"


def is_name(text: str) -> bool:
    """Whether a folder has the name of a segment."""
    return _NAME.fullmatch(text) is not None


def end_of(name: str) -> int:
    """The end of the segment whose folder has this name."""
    return int(name.partition("-")[2], 16)


def standing_text(standing: Standing) -> str:
    """As it is stored beside the segments."""
    return json.dumps({"version": VERSION, **asdict(standing)}, indent=1)


def standing_from(text: str) -> Standing:
    """As it was stored. Raises ValueError, KeyError, TypeError where it was not."""
    found = json.loads(text)
    check_version(found)
    return standing_of(found)


def standing_of(found: Mapping[str, Any]) -> Standing:
    """From its JSON."""
    membership = found["membership"]
    tables = {int(oid): joined for oid, joined in membership["tables"].items()}
    return Standing(
        number=found["number"],
        position=found["position"],
        server=Server(**found["server"]),
        membership=Membership(membership["publication"], tables),
        binary=found["binary"],
        gtids=found.get("gtids", ""),
        made=found.get("made", 0),
        started=found.get("started", ""),
        last_xid=found.get("last_xid", 0),
        passes=found.get("passes", ""),
    )


def check_version(found: Mapping[str, Any]) -> None:
    """Raises ValueError for one that a later release has written."""
    if found["version"] != VERSION:
        raise ValueError(f"version {found['version']}")


def _piece(found: Mapping[str, Any]) -> Piece:
    columns = tuple(ReadColumn(**each) for each in found["columns"])
    return Piece(found["oid"], found["schema"], found["name"], columns, Written(**found["file"]))


def _stored(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
