"""The source: light queries without Spark, and one snapshot that is read."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.key_parts import Selected
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports.keys import PlacedRows, Seek, SourceKeys


class Probe(Protocol):
    """Light queries to one source. Raises SourceUnreachable, SourceRefused."""

    @property
    def rows(self) -> SourceRows | None:
        """What its rows can be asked, beside being read; None where they can be asked nothing."""

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table that is configured, or may be; of those that this user may not read, the names."""

    def bound(self) -> Moment:
        """How far the source has settled, whatever the table."""

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[Observation, ...]:
        """One observation per look, all under one bound and one connection; see `Observation` for the order of the queries."""

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """The age of the oldest row that has not landed, for each look, in seconds on the source's clock; 0.0 if all have."""


class SourceRows(Protocol):
    """The rows of a source by their cursors and keys, in its state of now; a source that only tells what comes has none of it. Raises SourceUnreachable, SourceRefused."""

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """The smallest cursor of each incremental table; None if it has none, or if finding it takes too long."""

    def row_hash(self) -> RowHash:
        """The cheapest that the source computes."""

    def measure(self, spec: TableSpec, windows: Sequence[Window], by: RowHash = RowHash.TEXT) -> tuple[Measure, ...]:
        """Rows and hash of each window, counted by the source in one snapshot. `by`: TEXT, or what `row_hash` says."""

    def keys(self, spec: TableSpec) -> AbstractContextManager[SourceKeys]:
        """The table's keys, in a snapshot of their own that is held until the block ends."""

    def key_ends(self, spec: TableSpec) -> tuple[int, int] | None:
        """The smallest and the largest key, where it is a whole number and an index tells; None otherwise, and where there is no row."""

    def key_ranges(self, spec: TableSpec, after: Place | None, rows: int) -> tuple[KeyRange, ...] | None:
        """The ranges of the key behind a place that have about so many rows together, each to be read by a session; the last has no end where the table has no more. None where a range costs more than it has rows."""

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> AbstractContextManager[PlacedRows | None]:
        """The rows of the windows, in a snapshot of their own that is held until the block ends; None where the source cannot tell."""


class Behind(Protocol):
    """What has changed in a source behind the position of a copy, whose version was chosen after this was asked for."""

    def among(self, places: AbstractSet[int]) -> frozenset[int]:
        """Those at which a row has changed since, as far as the source has come by now: none that was compared in the meantime is left out."""

    def most(self) -> int | None:
        """No fewer than the rows that have changed since, likewise; None where it may be any number, as of a table that was truncated."""


@runtime_checkable
class TellsChanges(Protocol):
    """What a source's rows may offer beside, where its log says which of them have changed."""

    def behind(self, spec: TableSpec, state: State) -> Behind:
        """What has changed behind the state's position."""


@runtime_checkable
class ReadsAhead(Protocol):
    """What a probe may offer beside, where its source keeps for us what has not been read yet."""

    def read_ahead(self, seen: Sequence[Observation]) -> tuple[Observation, ...]:
        """Read into the lake what the source has kept for too long, whatever becomes of its tables; what was seen, with what stood in the way."""


class Snapshot(Protocol):
    """One snapshot of the source, held open for all parallel reads and for its own numbers."""

    @property
    def rows(self) -> int:
        """Rows of the plan's window, counted by the source, with NULL cursors if they are read."""

    @property
    def rejected(self) -> int:
        """How many of these the source knows to be unfit for the lake."""

    @property
    def parts(self) -> Any:
        """The rows, as tasks read them side by side; None where they come as a frame alone."""

    @property
    def frame(self) -> Any:
        """The same rows in one (a Spark DataFrame, or the fake's list)."""

    @property
    def keys(self) -> SourceKeys | None:
        """The keys of the whole table, where the plan compares them."""

    @property
    def selected(self) -> Selected | None:
        """What a comparison has asked for, of which alone are the rows and the numbers; None where nothing was compared."""


class Source(Protocol):
    """Reads a plan's window."""

    @property
    def differing(self) -> DifferingRows | None:
        """What reads only rows that differ from the copy; None where the source tells only what comes."""

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        """Open one snapshot, after the plan's bound was taken."""


class DifferingRows(Protocol):
    """Reads what a comparison asks for."""

    def compared(self, plan: SyncPlan, seek: Seek) -> AbstractContextManager[Snapshot]:
        """A snapshot of only the rows that `seek` asks for, after it was shown all rows in that very snapshot. Raises SourceRefused.

        Rows that a copy cannot hold are not shown to it, and are read in any case.
        """


class OpenSource(Protocol):
    """A source that is open: all that the rest of the program has of it."""

    @property
    def probe(self) -> Probe:
        """Light queries to it."""

    @property
    def source(self) -> Source:
        """What reads it."""

    def close(self) -> None:
        """Close what is kept for the next use, which opens it anew; whoever works with it at this moment goes on."""
