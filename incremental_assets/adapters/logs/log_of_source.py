"""The log of one source, whichever database it is of, as its tables are read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.logs.joining import Snapshot
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.captures.log.position import Join
from incremental_assets.core.captures.log.standing import LogStanding
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.table import TableSpec

KEEP = timedelta(days=7)
"""Segments that all tables have landed stay for as long: a copy may be taken back to an earlier run, and go on from there."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What a snapshot shows is what the log has up to `position`, and what `join` says; that is None where the log has passed the snapshot already."""

    position: int
    join: Join | None


@dataclass(frozen=True, slots=True)
class Copy:
    """A table by its number in the source, and up to where its copy has landed the log."""

    spec: TableSpec
    number: int
    position: int


class Source(Protocol):
    """What is asked of the log while tables are loaded, read and compared."""

    @property
    def address(self) -> Address:
        """Where the source is."""

    @property
    def folder(self) -> Path:
        """That of its segments."""

    @property
    def patience(self) -> float:
        """Seconds for which a snapshot is tried to be joined."""

    @property
    def shelf(self) -> Shelf:
        """The segments."""

    def begin(self, spec: TableSpec) -> Any:
        """Follow the table from now on. What comes back is asked for by `join`."""

    def join(self, begun: Any, visible: str) -> Joined | None:
        """How a snapshot that is held joins the log; None where it does not, and has to be taken again."""

    def held_up(self) -> str:
        """Why no snapshot can be joined, and what to do, as part of a sentence."""

    def shown(self) -> Snapshot:
        """Which transactions the source shows now: every later snapshot shows them too."""

    def read_on(self, copies: Sequence[Copy]) -> Mapping[int, LakeRefused]:
        """Decode what there is into segments, for all tables that are followed; by their numbers those of these that cannot go on, and why."""

    def read_elsewhere(self, copy: Copy) -> None:
        """The same for one, on another server than was read before, as somebody has accepted. Raises LakeRefused where it cannot go on."""

    def read_to_now(self, copy: Copy) -> None:
        """The same for one, and up to all that any snapshot before has shown. Raises LakeRefused where it cannot go on."""

    def check_whole(self) -> None:
        """Raises LakeRefused where the last segment that was there is no more."""


class Asked(Protocol):
    """What is asked of the log without reading it."""

    @property
    def address(self) -> Address:
        """Where the source is."""

    def seen(self, specs: Sequence[TableSpec]) -> tuple[LogSeen, ...]:
        """What the log says of each table now. Raises SourceUnreachable, SourceRefused."""

    def read_ahead(self) -> str:
        """Read a part of what the source keeps for us, unless another process does; why it could not, or nothing."""

    def empty(self, parts: Sequence[int]) -> frozenset[int]:
        """Those of these partitions, by their numbers, that have no row, nor had one since they were last emptied."""

    def missing_sql(self, specs: Sequence[TableSpec]) -> str:
        """Statements for an administrator; empty when nothing is missing."""

    def standing(self) -> LogStanding:
        """Where the log stands."""


class SourceLog(Source, Asked, Protocol):
    """All of it."""
