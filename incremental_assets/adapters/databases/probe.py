"""Light questions to one source, through a small pool of our own driver's connections; no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

import psycopg
import sqlalchemy
from psycopg import pq
from sqlalchemy import event

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql import connect as postgresql_connect
from incremental_assets.adapters.databases.postgresql import look as postgresql_look
from incremental_assets.adapters.databases.postgresql.bound import take_bound
from incremental_assets.adapters.databases.postgresql.catalogue import read_catalogue
from incremental_assets.adapters.databases.postgresql.doctor import read_facts
from incremental_assets.adapters.databases.postgresql.errors import explained
from incremental_assets.adapters.databases.postgresql.measure import measure
from incremental_assets.adapters.databases.postgresql.numbers import SnapshotSession, open_snapshot
from incremental_assets.adapters.databases.postgresql.patience import Patient
from incremental_assets.adapters.databases.postgresql.unreadable import missing_schemas, read_unreadable
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.interruption import this_process
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import TableId, TableShape, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Observation, SyncPlan
from incremental_assets.core.planning.settled_bound import Bound


class SqlProbe:
    """Implements `core.ports.Probe` for PostgreSQL. Opens nothing before the first question."""

    def __init__(self, address: Address, source: str) -> None:
        self._address, self._source = address, source
        url = sqlalchemy.URL.create(
            "postgresql+psycopg", host=address.host, port=address.port, database=address.database
        )
        self._engine = sqlalchemy.create_engine(
            url,
            creator=lambda: Patient.connect(**postgresql_connect.driver_arguments(address)),  # type: ignore[arg-type]
            isolation_level="AUTOCOMMIT",
            # One connection per table that syncs at the same time, which the caller limits: kept, as each begins with a handshake.
            pool_size=max(1, address.connections),
            max_overflow=-1,
            pool_pre_ping=True,
            pool_recycle=300,
        )
        event.listen(self._engine, "connect", self._begin_session, insert=True)

    def close(self) -> None:
        """Close what the pool holds."""
        self._engine.dispose()

    def catalogue(self) -> tuple[TableShape, ...]:
        """Every table of the configured schemas, those that this user may not read after the others."""
        with self._cursor() as asked, explained(self._address):
            readable = read_catalogue(asked, self._source, self._address.schemas)
            return (*readable, *read_unreadable(asked, self._source, self._address.schemas))

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """Those of the schemas that the database does not have."""
        with self._cursor() as asked, explained(self._address):
            return missing_schemas(asked, schemas)

    def bound(self) -> Bound:
        """How far the source has settled."""
        with self._cursor() as asked, explained(self._address):
            return take_bound(asked)

    def observe(self, looks: Sequence[Look]) -> tuple[Observation, ...]:
        """One observation per look, all under one bound; of several tables, one that cannot be asked is observed without a fingerprint."""
        with self._cursor() as asked, explained(self._address, _only(looks)):
            return postgresql_look.observe(asked, looks)

    def lag(self, looks: Sequence[Look]) -> tuple[float, ...]:
        """Per look: seconds, on the source's clock, since the oldest row that has not landed was stamped; 0.0 when all has."""
        with self._cursor() as asked, explained(self._address, _only(looks)):
            return postgresql_look.lag(asked, looks)

    def lowest(self, specs: Sequence[TableSpec]) -> tuple[CursorValue | None, ...]:
        """Per incremental table its smallest cursor; None where it has none, or where that takes too long to find."""
        with self._cursor() as asked, explained(self._address):
            return postgresql_look.lowest(asked, specs)

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, counted by the source in one statement."""
        with self._cursor() as asked, explained(self._address, spec.id):
            return measure(asked, spec, windows)

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know of the source and of some tables."""
        with self._cursor() as asked, explained(self._address):
            return read_facts(asked, wanted)

    @contextmanager
    def snapshot(self, plan: SyncPlan) -> Iterator[SnapshotSession]:
        """One snapshot, held open for the parallel readers until the block ends."""
        with self._cursor() as asked:
            with explained(self._address, plan.spec.id):
                session = open_snapshot(asked, plan)
            try:
                yield session
            except BaseException:
                # It may well be silent, too: closed, it gives the snapshot back without an answer.
                asked.connection.close()
                raise
            # The rows have been read by then; a connection that died since does no harm.
            with suppress(psycopg.Error):
                asked.execute("ROLLBACK")

    @contextmanager
    def _cursor(self) -> Iterator[psycopg.RawCursor[Any]]:
        # A raw cursor takes `$1` for a value, so that a `%` or `:` in a name is nothing special.
        with explained(self._address):
            pooled = self._engine.connect()
        driver = cast(Patient, pooled.connection.driver_connection)
        with pooled, psycopg.RawCursor(driver) as asked:
            try:
                with this_process.cancelling(driver.abort):
                    yield asked
            finally:
                # A signal may have come in the middle of a question, whose answer nobody waits for any more.
                if driver.pgconn.transaction_status == pq.TransactionStatus.ACTIVE:
                    driver.close()
                if driver.closed:
                    pooled.invalidate()

    def _begin_session(self, driver: Patient, _: object) -> None:
        # The server answers within its own deadline; what is silent for longer than that is no server any more.
        deadlines = self._address.statement_timeout + self._address.socket_timeout
        driver.patience = deadlines.total_seconds()
        if driver.info.server_version < postgresql_connect.OLDEST_VERSION:
            version = driver.info.parameter_status("server_version")
            driver.close()
            raise SourceRefused(
                f"{self._address.host}:{self._address.port}: this is PostgreSQL {version}; version 14 or later is needed"
            )
        driver.autocommit = True
        driver.execute(postgresql_connect.settings(self._address.statement_timeout).encode())


def _only(looks: Sequence[Look]) -> TableId | None:
    return looks[0].spec.id if len(looks) == 1 else None
