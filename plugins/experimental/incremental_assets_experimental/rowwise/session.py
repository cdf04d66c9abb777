"""Connections that are opened when they are asked for, and the light queries of one of them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from zoneinfo import ZoneInfo

from incremental_assets.adapters.databases.dialect import Address, Numbers, Unread
from incremental_assets.adapters.databases.one_by_one import End, OneByOne
from incremental_assets.adapters.databases.read_keys import ReadKeys
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.adapters.databases.sentences import place_of, unreachable
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets_experimental.rowwise import queries
from incremental_assets_experimental.rowwise.row_dialect import RowConnection, RowDialect
from incremental_assets_experimental.rowwise.snapshot import open_snapshot, since
from incremental_assets_experimental.rowwise.sql import beyond, both, inside, rows_of, selected

_OF_THE_LINE = (socket.gaierror, ConnectionError, TimeoutError)


class Session(OneByOne):
    """Implements `databases.dialect.Session` on one connection."""

    def __init__(self, dialect: RowDialect, connection: RowConnection) -> None:
        self._dialect, self._connection = dialect, connection

    def catalogue(self, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
        """Every table and view that this user may read."""
        return self._dialect.catalogue(self._connection, source, schemas, "")

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those that are not there, or not shown."""
        return self._dialect.missing_schemas(self._connection, schemas)

    def hidden(self, tables: Sequence[TableId]) -> set[TableId]:
        """The tables that hide rows, as far as this user may see what hides them."""
        hiding = self._dialect.hiding(self._connection)
        return {table for table in tables if (table.schema, table.name) in hiding}

    def bound(self, specs: Sequence[TableSpec]) -> Bound:
        """The clock, and since when somebody may be writing."""
        return self._dialect.bound(self._connection)

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, in one snapshot."""
        with self._connection.snapshot():
            return queries.measure(self._dialect, self._connection, spec, windows) if windows else ()

    @contextmanager
    def keys(self, spec: TableSpec) -> Iterator[ReadKeys]:
        """Read in one snapshot, which is over then."""
        with self._connection.snapshot() as one:
            found = queries.read_keys(self._dialect, self._connection, spec, in_one_view=one)
        yield found

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[ReadPlaces]:
        """The rows by the places of their keys, read in one snapshot."""
        with self._connection.snapshot():
            found = queries.placed(self._dialect, self._connection, spec, windows)
        yield found

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know."""
        return self._dialect.facts(self._connection, wanted)

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """The SELECT of each read; how the database would answer it, it is not asked."""
        unknown = "; ".join(
            each for each in ("this database is not asked how it would read the rows", self._dialect.note) if each
        )
        return tuple(
            Estimate(
                selected(self._dialect, plan.spec, plan.spec.shape.names, rows_of(self._dialect, plan)), unknown=unknown
            )
            for plan in plans
        )

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Numbers]:
        """One snapshot, whose rows lie in a file until the block ends."""
        return open_snapshot(self._dialect, self._connection, plan)

    def _end(self, spec: TableSpec, end: End) -> CursorValue | None:
        return queries.end(self._dialect, self._connection, spec, end)

    def _fingerprint(self, spec: TableSpec, window: Window) -> Fingerprint:
        return queries.fingerprint(self._dialect, self._connection, spec, window)

    def _age(self, unread: Unread, clock: datetime) -> float | None:
        spec = unread.spec
        rows = both(
            inside(self._dialect, spec, unread.window, nulls=False), beyond(self._dialect, spec, ">", unread.above)
        )
        found = queries.lowest_of(self._dialect, self._connection, spec, rows)
        return None if found is None else since(found, clock, ZoneInfo(unread.zone))


class Connections:
    """Implements `databases.dialect.Connections`. Each session has a connection of its own: nothing that was set or asked lasts into the next."""

    shares_snapshots = False

    def __init__(self, dialect: RowDialect, address: Address) -> None:
        self._dialect, self._address = dialect, address

    def close(self) -> None:
        """Nothing is kept."""

    @contextmanager
    def explained(self, table: TableId | None = None) -> Iterator[None]:
        """Turns whatever the driver raises inside into an error of the family."""
        with explained(self._dialect, self._address, table):
            yield

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection of its own."""
        with self.explained():
            connection = self._dialect.connect(self._address)
        try:
            with this_process.cancelling(connection.abort):
                yield Session(self._dialect, connection)
        finally:
            connection.close()


@contextmanager
def explained(dialect: RowDialect, address: Address, table: TableId | None) -> Iterator[None]:
    """One sentence for what the driver raises in the block."""
    try:
        yield
    except Exception as error:
        found = dialect.explain(error, address, table)
        if found is None and isinstance(error, _OF_THE_LINE):
            # Not every driver has an error of its own for what the machine says of a line.
            found = SourceUnreachable(f"{place_of(address)}: {unreachable(str(error), address)}")
        if found is None:
            raise
        raise found from None
