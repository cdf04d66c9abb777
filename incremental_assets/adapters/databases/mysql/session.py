"""Connections to a server, which are opened when they are asked for and only ever read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

from incremental_assets.adapters.databases.dialect import Address, Numbers, Unread
from incremental_assets.adapters.databases.mysql import window_queries
from incremental_assets.adapters.databases.mysql.bound import take_bound
from incremental_assets.adapters.databases.mysql.catalogue import described, missing_schemas, schemas
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.doctor import read_facts
from incremental_assets.adapters.databases.mysql.errors import explained
from incremental_assets.adapters.databases.mysql.key_ranges import key_ranges
from incremental_assets.adapters.databases.mysql.peek import peek
from incremental_assets.adapters.databases.mysql.snapshot import open_snapshot
from incremental_assets.adapters.databases.mysql.transactions import Transactions
from incremental_assets.adapters.databases.mysql.uncommitted import lowest_uncommitted
from incremental_assets.adapters.databases.one_by_one import End, OneByOne
from incremental_assets.adapters.databases.per_table import for_each_table
from incremental_assets.adapters.databases.read_keys import KeysOnDemand, ReadKeys
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek


class Session(OneByOne):
    """Implements `databases.dialect.Session` on one connection."""

    def __init__(self, connection: Connection, transactions: Transactions) -> None:
        self._connection = connection
        self._transactions = transactions

    def catalogue(self, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
        """Every table and view that this user may read; the server does not show the others."""
        with self._connection.snapshot():
            return described(self._connection, source, schemas)

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those that the server does not have, or does not show."""
        return missing_schemas(self._connection, schemas)

    def schemas(self) -> tuple[str, ...]:
        """Every database that the server shows this user, but for its own."""
        return schemas(self._connection)

    def hidden(self, tables: Sequence[TableId]) -> set[TableId]:
        """An empty set: the server hides tables and columns, and no rows."""
        return set()

    def bound(self, specs: Sequence[TableSpec]) -> Bound:
        """The clock, and since when somebody may be writing."""
        return take_bound(self._connection, self._transactions)

    def lowest_uncommitted(
        self, wanted: Mapping[int, tuple[TableSpec, Window]], *, alone: bool
    ) -> dict[int, CursorValue | None]:
        """The smallest cursor of each window that a dirty read shows beside the committed rows."""
        specs = {index: spec for index, (spec, _) in wanted.items()}
        return for_each_table(specs, lambda index: (lowest_uncommitted(self._connection, *wanted[index]),), alone=alone)

    def peek(self, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
        """The first rows that come, as the server sends them."""
        with self._connection.snapshot():
            return peek(self._connection, spec, most)

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window."""
        with self._connection.snapshot():
            return window_queries.measure(self._connection, spec, windows)

    @contextmanager
    def keys(self, spec: TableSpec) -> Iterator[KeysOnDemand]:
        """Read in one snapshot, which is over then, once more is asked than for single keys."""
        yield KeysOnDemand(partial(self._read_keys, spec), partial(self._present_keys, spec))

    def _read_keys(self, spec: TableSpec) -> ReadKeys:
        with self._connection.snapshot():
            return window_queries.read_keys(self._connection, spec)

    def _present_keys(self, spec: TableSpec, texts: AbstractSet[str]) -> frozenset[str]:
        with self._connection.snapshot():
            return window_queries.present_keys(self._connection, spec, texts)

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[ReadPlaces]:
        """The rows by the places of their keys, read in one snapshot, which is over then."""
        with self._connection.snapshot():
            found = window_queries.placed_rows(self._connection, spec, windows)
        yield found

    def key_ranges(self, spec: TableSpec, after: Place | None, rows: int, parts: int) -> tuple[KeyRange, ...] | None:
        """The next range of the primary key; None for any other key."""
        return key_ranges(self._connection, spec, after, rows)

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know."""
        return read_facts(self._connection, wanted)

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Numbers]:
        """One read transaction, whose rows lie in a file until the block ends."""
        return open_snapshot(self._connection, plan)

    def compared(self, plan: SyncPlan, seek: Seek) -> AbstractContextManager[Numbers]:
        """One read transaction, compared with a copy by `seek`; the rows that differ lie in a file until the block ends."""
        return open_snapshot(self._connection, plan, seek)

    def _end(self, spec: TableSpec, end: End) -> CursorValue | None:
        return window_queries.end(self._connection, spec, end)

    def _fingerprint(self, spec: TableSpec, window: Window) -> Fingerprint:
        return window_queries.fingerprint(self._connection, spec, window)

    def _age(self, unread: Unread, clock: datetime) -> float | None:
        found = window_queries.oldest(self._connection, unread.spec, unread.window, unread.above)
        if found is None:
            return None
        is_instant = unread.spec.cursor is not None and unread.spec.cursor.type is CursorType.TIMESTAMP
        zone = UTC if is_instant else ZoneInfo(unread.zone)
        return (clock - datetime.fromisoformat(found).replace(tzinfo=zone)).total_seconds()


class Connections:
    """Implements `databases.dialect.Connections`. Each session has a connection of its own: nothing that was set or asked lasts into the next."""

    shares_snapshots = False

    def __init__(self, address: Address) -> None:
        self._address = address
        self._transactions = Transactions()

    def close(self) -> None:
        """Nothing is kept."""

    def explained(self, table: TableId | None = None) -> AbstractContextManager[None]:
        """Turns whatever the driver raises inside into an error of the family."""
        return explained(self._address, table)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection of its own."""
        with self.explained():
            connection = Connection(self._address)
        try:
            with this_process.cancelling(connection.abort):
                yield Session(connection, self._transactions)
        finally:
            connection.close()
