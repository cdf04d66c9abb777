"""Connections that are opened when they are asked for, and the light queries that one of them runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from typing import cast

import psycopg
import sqlalchemy
from psycopg import pq
from sqlalchemy import event

from incremental_assets.adapters.databases.dialect import Address, Numbers, Unread
from incremental_assets.adapters.databases.postgresql import connect, light_queries, members
from incremental_assets.adapters.databases.postgresql.advice import discovery
from incremental_assets.adapters.databases.postgresql.advice.doctor import read_facts
from incremental_assets.adapters.databases.postgresql.advice.estimates import estimates
from incremental_assets.adapters.databases.postgresql.advice.lateness import lateness
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.catalogue import hidden
from incremental_assets.adapters.databases.postgresql.described import described
from incremental_assets.adapters.databases.postgresql.errors import explain
from incremental_assets.adapters.databases.postgresql.greeting import greet
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.adapters.databases.postgresql.rows.byte_hash import byte_hash, hashes_alike
from incremental_assets.adapters.databases.postgresql.rows.key_ranges import key_ranges
from incremental_assets.adapters.databases.postgresql.rows.keys import HeldKeys
from incremental_assets.adapters.databases.postgresql.rows.measure import measure, row_hash
from incremental_assets.adapters.databases.postgresql.rows.peek import peek
from incremental_assets.adapters.databases.postgresql.rows.places import PlacedRows, key_ends
from incremental_assets.adapters.databases.postgresql.rows.spooling import Spooling
from incremental_assets.adapters.databases.postgresql.settled.bound import local_times, take_bound
from incremental_assets.adapters.databases.postgresql.snapshot_counts import (
    Begun,
    begin_snapshot,
    check_shown,
    open_keys,
    open_placed_rows,
    snapshot_numbers,
)
from incremental_assets.adapters.databases.postgresql.unreadable import missing_schemas, read_unreadable
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.checks.lateness import Lateness
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek


class Session:
    """Implements `databases.dialect.Session` on one connection in autocommit."""

    def __init__(self, asked: Asked, spooling: Spooling | None = None) -> None:
        """`spooling`: reads the rows of a snapshot by this very session, where no other may be opened beside it."""
        self._asked, self._spooling = asked, spooling

    def catalogue(self, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
        """Every table of the schemas, those that this user may not read after the others."""
        return (*described(self._asked, source, schemas), *read_unreadable(self._asked, source, schemas))

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those of the schemas that the database does not have."""
        return missing_schemas(self._asked, schemas)

    def hidden(self, tables: Sequence[TableId]) -> set[TableId]:
        """Those of the tables whose row-level security hides rows from this user."""
        found = hidden(self._asked, tables)
        return {table for table in tables if (table.schema, table.name) in found}

    def bound(self, specs: Sequence[TableSpec]) -> Bound:
        """How far the source has settled, with the local times of the zones in which these tables are stamped."""
        bound = take_bound(self._asked)
        return replace(bound, local_times=local_times(self._asked, specs, bound))

    def highest(self, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
        """The largest cursor of each table."""
        return light_queries.highest(self._asked, specs, alone=alone)

    def drawn(self, specs: Mapping[int, TableSpec]) -> dict[int, int]:
        """How far the sequences have come."""
        return light_queries.drawn(self._asked, specs)

    def lowest(self, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
        """The smallest cursor of each table."""
        return light_queries.lowest(self._asked, specs, alone=alone)

    def fingerprints(
        self, wanted: Mapping[int, tuple[TableSpec, Window]], bound: Bound, *, alone: bool
    ) -> dict[int, Fingerprint]:
        """The fingerprints of the row versions of each window."""
        return light_queries.fingerprints(self._asked, wanted, bound, alone=alone)

    def ages(self, unread: Mapping[int, Unread], clock: datetime, *, alone: bool) -> dict[int, float | None]:
        """Seconds since the oldest of the stamps."""
        return light_queries.ages(self._asked, unread, clock, alone=alone)

    def members(self, tables: Sequence[TableId]) -> list[tuple[int, ...]]:
        """The partitions and inheritance children of each table, by oid."""
        return members.members(self._asked, tables)

    def lowest_of_members(
        self, wanted: Mapping[int, tuple[TableSpec, Sequence[int]]], *, alone: bool
    ) -> dict[int, CursorValue | None]:
        """The smallest cursor in some members of each table."""
        return members.lowest_of_members(self._asked, wanted, alone=alone)

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, in one statement."""
        return measure(self._asked, spec, windows, row_hash, RowHash.TEXT)

    def row_hash(self) -> RowHash:
        """Found out by a row that is no table's."""
        return RowHash.BYTES if hashes_alike(self._asked) else RowHash.TEXT

    def measure_bytes(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """The same, by the cheaper hash."""
        return measure(self._asked, spec, windows, byte_hash, RowHash.BYTES)

    def keys(self, spec: TableSpec) -> AbstractContextManager[HeldKeys]:
        """The keys, in a transaction that holds their snapshot."""
        return open_keys(self._asked, spec)

    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> AbstractContextManager[PlacedRows]:
        """The placed rows, in a transaction that holds their snapshot."""
        return open_placed_rows(self._asked, spec, windows)

    def key_ends(self, spec: TableSpec) -> tuple[int, int] | None:
        """The smallest and the largest key, by its index; None without such a key or a row."""
        return key_ends(self._asked, spec)

    def key_ranges(self, spec: TableSpec, after: Place | None, rows: int, parts: int) -> tuple[KeyRange, ...] | None:
        """The next ranges of the key, by its index; None where rows do not lie in its order."""
        return key_ranges(self._asked, spec, after, rows, parts)

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know of the source and of some tables."""
        return read_facts(self._asked, wanted)

    def lateness(self, specs: Sequence[TableSpec]) -> tuple[Lateness | None, ...]:
        """How long after their stamp the rows of each table were committed."""
        return lateness(self._asked, specs)

    def schemas(self) -> tuple[str, ...]:
        """Every schema with a table, but for PostgreSQL's own."""
        return discovery.schemas(self._asked)

    def describe(self, shapes: Sequence[TableShape]) -> tuple[TableTraits, ...]:
        """What the catalogue, the statistics and the last blocks tell of each table's columns."""
        return discovery.describe(self._asked, shapes)

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """What the planner says of each read."""
        return estimates(self._asked, plans)

    def peek(self, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
        """The first rows that come, as the server prints them."""
        return peek(self._asked, spec, most)

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[Numbers]:
        """One exported snapshot, which parallel readers import until the block ends."""
        begun = begin_snapshot(self._asked)
        (numbers,) = self._numbers([plan], begun)
        with self._held():
            yield numbers

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Numbers]:
        """One exported snapshot likewise, whose rows are shown before they are counted."""
        begun = begin_snapshot(self._asked)
        check_shown(self._asked, plan)
        sought = seek(PlacedRows(self._asked, plan.spec, plan.reading.compared))
        (numbers,) = self._numbers([plan.at(sought.places)], begun)
        with self._held():
            yield replace(numbers, selected=sought)

    @contextmanager
    def shared_snapshot(self) -> Iterator[Callable[[Sequence[SyncPlan]], Sequence[Numbers]]]:
        """The same for several plans: what one of them meets ends at a savepoint, with the locks that were taken since."""
        begun = begin_snapshot(self._asked)

        def numbers(plans: Sequence[SyncPlan]) -> Sequence[Numbers]:
            with self._asked.attempt():
                return self._numbers(plans, begun)

        with self._held():
            yield numbers

    def _numbers(self, plans: Sequence[SyncPlan], begun: Begun) -> list[Numbers]:
        numbers = snapshot_numbers(self._asked, plans, begun)
        if self._spooling is None:
            return numbers
        return [self._spooling.read(self._asked, *each) for each in zip(plans, numbers, strict=True)]

    @contextmanager
    def _held(self) -> Iterator[None]:
        try:
            with self._spooling or nullcontext():
                yield
        except BaseException:
            # It may well be silent, too: closed, it gives the snapshot back without an answer.
            self._asked.connection.close()
            raise
        # The rows have been read by then; a connection that died since does no harm.
        with suppress(psycopg.Error):
            self._asked.end()


class Connections:
    """Implements `databases.dialect.Connections`."""

    shares_snapshots = True

    def __init__(self, address: Address) -> None:
        self._address = address
        url = sqlalchemy.URL.create(
            "postgresql+psycopg", host=address.host, port=address.port, database=address.database
        )
        self._pool = sqlalchemy.create_engine(
            url,
            creator=lambda: Patient.connect(**connect.driver_arguments(address)),  # type: ignore[arg-type]
            isolation_level="AUTOCOMMIT",
            # Else it looks for a type by a name that a role's own path may lead elsewhere.
            use_native_hstore=False,
            # None is kept: a session that nobody uses would take a place in the budget, and a slot of the server's, from those who ask.
            poolclass=sqlalchemy.NullPool,
        )
        event.listen(self._pool, "connect", self._begin_session, insert=True)

    def close(self) -> None:
        """Nothing is kept."""

    def explained(self, table: TableId | None = None) -> AbstractContextManager[None]:
        """Turns whatever the driver raises inside into an error of the family."""
        return explained(self._address, table)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection of its own."""
        with self.explained():
            pooled = self._pool.connect()
        driver = cast(Patient, pooled.connection.driver_connection)
        with pooled:
            try:
                with this_process.cancelling(driver.abort):
                    spooling = Spooling(self._address) if self._address.budget.is_single else None
                    yield Session(Asked(driver, self._address), spooling)
            finally:
                # A signal may have interrupted a query whose answer is no longer wanted.
                if driver.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                    driver.close()
                if driver.closed:
                    pooled.invalidate()

    def _begin_session(self, driver: Patient, _: object) -> None:
        # The server answers within its own deadline; what is silent for longer than that is no server any more.
        deadlines = self._address.statement_timeout + self._address.socket_timeout
        driver.patience = deadlines.total_seconds()
        driver.autocommit = True
        try:
            greet(driver, self._address)
        except BaseException:
            driver.close()
            raise


@contextmanager
def explained(address: Address, table: TableId | None = None) -> Iterator[None]:
    """Turn whatever the driver raises inside into an error of the family."""
    try:
        yield
    except sqlalchemy.exc.DBAPIError as wrapped:
        raise explain(wrapped.orig if isinstance(wrapped.orig, psycopg.Error) else wrapped, address, table) from None
    except psycopg.Error as error:
        raise explain(error, address, table) from None
