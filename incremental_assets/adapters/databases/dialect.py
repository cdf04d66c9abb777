"""The interface that each database implements: connections, light queries, and rows for Spark.

A database is a folder beside this file, with a dialect that `registry.py` finds. What holds for every database (the order of the queries,
which windows are queried, what a look at many tables leaves out) is written once: `observe.py`, `probe.py`, `spark_source.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.adapters.ssh_route import HERE, Route
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.checks.lateness import Lateness
from incremental_assets.core.config.database_settings import ConnectionOptions
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_parts import KeyParts, Selected
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import PlacedRows, Seek, SourceKeys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DEADLINES = ConnectionOptions()


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a source, and the user who asks; the password never shows."""

    dialect: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(repr=False)
    tls: str = "disable"
    connect_timeout: timedelta = _DEADLINES.connect_timeout
    socket_timeout: timedelta = _DEADLINES.socket_timeout
    statement_timeout: timedelta = _DEADLINES.statement_timeout
    schemas: tuple[str, ...] = ("public",)
    schema_globs: tuple[str, ...] = ()
    """Globs over schemas that are looked into besides."""
    fetch_size: int = 1000
    connections: int = 4
    """The most sessions at once, of all who ask this source."""
    ssh: Route | None = None
    """The server through which the host is reached; None: directly."""
    by_port: int = 0
    """The port of this machine behind which the host answers, for whoever reads in another process of it."""
    counted_in: str = ""
    """The folder in which processes count them together; empty: this one alone."""

    @property
    def door(self) -> tuple[str, int] | None:
        """Where on this machine the host answers, where it is reached through a server of SSH; else None. Raises SourceUnreachable."""
        if self.by_port:
            return HERE, self.by_port
        if self.ssh is None:
            return None
        from incremental_assets.adapters.ssh_tunnel import door

        return HERE, door(self.ssh, self.host, self.port)

    @property
    def for_tasks(self) -> Address:
        """The same for other processes of this machine: without what only the one needs that keeps the tunnel."""
        found = self.door
        return self if found is None else replace(self, ssh=None, by_port=found[1])

    @property
    def budget(self) -> Budget:
        """The sessions that may be open at once."""
        place = f"{self.user}@{self.host}:{self.port}/{self.database}" if self.host else self.database
        return Budget(place, self.connections, self.counted_in)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What one snapshot, which is held open, says of a plan's window."""

    rows: int
    rejected: int
    """Rows that Spark cannot hold, or that the plan sends to quarantine; when 0 the read need not test for them."""
    nulls: int
    highest: CursorValue | None
    due: CursorValue | None
    """The smallest that is past the source's clock, where the plan sends such rows to quarantine."""
    fingerprint: Fingerprint | None
    visible: str
    """Which transactions it shows, in the source's own words; empty where the source does not tell."""
    handle: Any
    """How the reader of the same dialect finds the snapshot."""
    keys: SourceKeys | None = None
    """The keys of the whole table, where the plan compares them."""
    selected: Selected | None = None
    """What was asked for once its rows were compared with a copy; the numbers and the read are of that."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Stamps of a table that have not landed: those of the window that lie above a value. `zone` is that of stamps without one."""

    spec: TableSpec
    window: Window
    above: CursorValue
    zone: str


class Session(Protocol):
    """One connection at work. Tables are numbered by who asks; unless one is asked `alone`, one that fails is left out of the answer."""

    def catalogue(self, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
        """Every table of the schemas; those that this user may not read by name, after the others."""

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those of the schemas that the database does not have."""

    def hidden(self, tables: Sequence[TableId]) -> set[TableId]:
        """Those of the tables that do not show this user every row."""

    def bound(self, specs: Sequence[TableSpec]) -> Bound:
        """How far the source has settled: the clock, then whatever may still bring rows that were stamped before it."""

    def highest(self, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
        """The largest cursor of each table."""

    def lowest(self, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
        """The smallest cursor of each table."""

    def fingerprints(
        self, wanted: Mapping[int, tuple[TableSpec, Window]], bound: Bound, *, alone: bool
    ) -> dict[int, Fingerprint]:
        """The fingerprint of the rows of each window: equal to another one only where nothing has changed in between."""

    def ages(self, unread: Mapping[int, Unread], clock: datetime, *, alone: bool) -> dict[int, float | None]:
        """Seconds since the oldest of the stamps; None where there is none."""

    def members(self, tables: Sequence[TableId]) -> list[tuple[int, ...]]:
        """The partitions and children of each table in which rows may lie, by numbers of the source's own; ascending."""

    def lowest_of_members(
        self, wanted: Mapping[int, tuple[TableSpec, Sequence[int]]], *, alone: bool
    ) -> dict[int, CursorValue | None]:
        """The smallest cursor in some members of each table."""

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, in the format of `measure.py`, in one snapshot."""

    def keys(self, spec: TableSpec) -> AbstractContextManager[SourceKeys]:
        """The table's keys in one snapshot, which is held until the block ends where it has to be."""

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know of the source and of some tables."""

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Numbers]:
        """One snapshot, held open until the block ends. Raises SourceRefused if the table is no longer the planned one."""


@runtime_checkable
class Estimating(Protocol):
    """What a session may offer beside: without it `plan` says that this database cannot tell."""

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """What each read would ask, and what the database expects of it; nothing is read. One that cannot be asked says why."""


@runtime_checkable
class Listing(Protocol):
    """What a session may offer beside: without it a glob stands for no schemas, which the dialect's facts say."""

    def schemas(self) -> tuple[str, ...]:
        """Every schema that this user may see, but for the database's own."""


@runtime_checkable
class Discovering(Protocol):
    """What a session may offer beside: without it `init` and `discover` judge by the catalogue alone."""

    def schemas(self) -> tuple[str, ...]:
        """Every schema with a table, but for the database's own."""

    def describe(self, shapes: Sequence[TableShape]) -> tuple[TableTraits, ...]:
        """What tells how fit the columns of each table are as cursors, by light questions that read few rows."""


@runtime_checkable
class Peeking(Protocol):
    """What a session may offer beside: without it `peek` shows the copy's rows alone."""

    def peek(self, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
        """The texts of the first rows that come."""


@runtime_checkable
class ByteHashing(Protocol):
    """What a session may offer beside: without it rows are measured by their text."""

    def row_hash(self) -> RowHash:
        """BYTES where this very server hashes every kind of value as `byte_hash.py` does."""

    def measure_bytes(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """The same as `measure`, by the hash of `byte_hash.py`."""


@runtime_checkable
class Placing(Protocol):
    """What a session may offer beside: without it a repair reads the windows that drifted whole."""

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> AbstractContextManager[PlacedRows]:
        """The rows of the windows that a copy can hold, by the places of their keys, in one snapshot.

        The reads of such a database heed `Request.places`.
        """


@runtime_checkable
class Bounding(Protocol):
    """What a session may offer beside: without it a check counts the windows of a table, and the keys of those alone that differ."""

    def key_ends(self, spec: TableSpec) -> tuple[int, int] | None:
        """The smallest and the largest key, where it is a whole number and an index tells. The rows that such a database places are `Windowed`."""


@runtime_checkable
class Ranging(Protocol):
    """What a session may offer beside: without it a first load is read from one snapshot, however large the table."""

    def key_ranges(self, spec: TableSpec, after: Place | None, rows: int, parts: int) -> tuple[KeyRange, ...] | None:
        """The next ranges of the key, up to `parts` of them, of about so many rows together; None where the source does not read them by an index, in the order in which rows lie.

        The reads of such a database heed `DatabaseReading.ranges`.
        """


@runtime_checkable
class Comparing(Protocol):
    """What a session may offer beside: without it a table of such a database cannot be compared instead of read by a cursor."""

    def compared(self, plan: SyncPlan, seek: Seek) -> AbstractContextManager[Numbers]:
        """One snapshot, held open until the block ends: its rows are shown to `seek` by their places, then those are counted that it asks for.

        The reads of such a database heed `Request.places`, and where the plan compares they give the rows beside that no copy can hold.
        """


@runtime_checkable
class Timekeeping(Protocol):
    """What a session may offer beside: without it `doctor` does not measure how late rows come."""

    def lateness(self, specs: Sequence[TableSpec]) -> tuple[Lateness | None, ...]:
        """How long after their stamp the rows of each table that were written last were committed; None where nothing tells."""


@runtime_checkable
class DirtyReading(Protocol):
    """A session that can read what is not committed; asked where `Bound.uncommitted`, which another session never says."""

    def lowest_uncommitted(
        self, wanted: Mapping[int, tuple[TableSpec, Window]], *, alone: bool
    ) -> dict[int, CursorValue | None]:
        """The smallest cursor of each window that a transaction has written which is still open; None where there is none."""


@runtime_checkable
class Drawing(Protocol):
    """A session that can tell how far the sequences have come that give integer cursors their numbers."""

    def drawn(self, specs: Mapping[int, TableSpec]) -> dict[int, int]:
        """The number that each table's sequence has drawn last, or that comes before the first one that it draws; none of a table whose sequence this user may not see."""


@runtime_checkable
class Sharing(Protocol):
    """A session whose snapshot may serve several tables; asked where `Connections.shares_snapshots`."""

    def shared_snapshot(self) -> AbstractContextManager[Callable[[Sequence[SyncPlan]], Sequence[Numbers]]]:
        """One snapshot for several plans: the numbers of all that are asked about; what is raised for one of them leaves it as it was."""


class Connections(Protocol):
    """The light connections of one process to one source. Opens nothing before it is asked."""

    shares_snapshots: bool
    """Whether one snapshot may serve several tables."""

    def session(self) -> AbstractContextManager[Session]:
        """One of them, for as long as the block."""

    def explained(self, table: TableId | None = None) -> AbstractContextManager[None]:
        """Turns whatever the driver raises inside into an error of `core.errors`."""

    def close(self) -> None:
        """Close those that are kept."""


class Reader(Protocol):
    """A source's rows as Spark takes them."""

    @property
    def address(self) -> Address:
        """The address of the source."""

    def parts(self, plan: SyncPlan, numbers: Numbers) -> tuple[ReadPart, ...] | None:
        """The rows of the plan's window in disjoint parts; None where they come as a frame alone."""

    def frame(self, session: SparkSession, plan: SyncPlan, numbers: Numbers) -> AbstractContextManager[DataFrame]:
        """The rows of the plan's window under the snapshot of the numbers, then the four flags of `staged.py`; read before the block ends."""

    def row_hashes(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """KEY and HASH of `own_names.py` for every row of the windows, or of those alone whose keys lie at some places, to find the rows that differ."""

    def row_texts(
        self, session: SparkSession, spec: TableSpec, windows: Sequence[Window], places: KeyParts | None = None
    ) -> DataFrame:
        """KEY and ROW of `own_names.py` of the same rows, to show the values that differ."""

    def unholdable_keys(self, session: SparkSession, spec: TableSpec, windows: Sequence[Window]) -> DataFrame | None:
        """KEY of each row of the windows that Spark cannot hold; None where it holds them all."""

    def explain(self, words: str, table: TableId) -> IncrementalAssetsError | None:
        """One sentence for an error of Spark's whose cause is the source; None where it is not."""


class Dialect(Protocol):
    """One database. It is found without loading its driver."""

    name: str
    """The name that `dialect` in sources.yaml has."""
    java_package: str
    """Where the classes of its JDBC driver lie; empty where Spark needs none."""

    def connections(self, address: Address) -> Connections:
        """Light queries to one source."""

    def reader(self, address: Address) -> Reader:
        """The same source, read for real."""

    def missing_sql(
        self, address: Address, wanted: Sequence[Wanted], facts: SourceFacts | None, whole: Sequence[str] = ()
    ) -> str:
        """What an administrator runs so that these tables, and all of the schemas in `whole`, can be read; empty when nothing is missing."""
