"""Read-only connections to a SQLite file, opened on demand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from incremental_assets.adapters.databases.dialect import Address, Numbers, Unread
from incremental_assets.adapters.databases.one_by_one import End, OneByOne
from incremental_assets.adapters.databases.read_keys import KeysOnDemand
from incremental_assets.adapters.databases.read_places import ReadPlaces
from incremental_assets.adapters.databases.sqlite import window_queries
from incremental_assets.adapters.databases.sqlite.bound import take_bound
from incremental_assets.adapters.databases.sqlite.catalogue import SCHEMA, read_catalogue
from incremental_assets.adapters.databases.sqlite.damaged_schema import is_of_one_entry, tolerate
from incremental_assets.adapters.databases.sqlite.discovery import describe
from incremental_assets.adapters.databases.sqlite.doctor import read_facts
from incremental_assets.adapters.databases.sqlite.errors import check_openable, explained
from incremental_assets.adapters.databases.sqlite.estimates import estimates
from incremental_assets.adapters.databases.sqlite.keys import present_keys, read_keys
from incremental_assets.adapters.databases.sqlite.peek import peek
from incremental_assets.adapters.databases.sqlite.rows import utc
from incremental_assets.adapters.databases.sqlite.settings import set_all
from incremental_assets.adapters.databases.sqlite.snapshot import open_snapshot
from incremental_assets.adapters.databases.sqlite.sql import install
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.doctor import SourceFacts, Wanted
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.discovery.traits import TableTraits
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.measure import Measure
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import Seek


class Session(OneByOne):
    """Implements `databases.dialect.Session` on one connection."""

    def __init__(self, connection: sqlite3.Connection, path: Path, file: str) -> None:
        self._connection, self._path, self._file = connection, path, file

    def catalogue(self, source: str, schemas: Sequence[str]) -> tuple[TableShape, ...]:
        """Every table and view, at one moment; there is nothing that a reader of the file may not read."""
        self._connection.execute("BEGIN")
        try:
            return read_catalogue(self._connection, source, schemas, file=self._file)
        finally:
            self._connection.execute("ROLLBACK")

    def missing_schemas(self, schemas: Sequence[str]) -> tuple[str, ...]:
        """All but `main`."""
        return tuple(schema for schema in schemas if schema != SCHEMA)

    def hidden(self, tables: Sequence[TableId]) -> set[TableId]:
        """An empty set: a file hides no rows."""
        return set()

    def bound(self, specs: Sequence[TableSpec]) -> Bound:
        """The clock, and whether anybody is writing."""
        return take_bound(self._path)

    def peek(self, spec: TableSpec, most: int) -> list[tuple[str | None, ...]]:
        """The first rows that come, as they are stored."""
        return peek(self._connection, spec, most)

    def measure(self, spec: TableSpec, windows: Sequence[Window]) -> tuple[Measure, ...]:
        """Rows and hash of each window, in one read transaction."""
        self._connection.execute("BEGIN")
        try:
            return window_queries.measure(self._connection, spec, windows) if windows else ()
        finally:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def keys(self, spec: TableSpec) -> Iterator[KeysOnDemand]:
        """Read in one statement, which is a transaction."""
        connection = self._connection
        yield KeysOnDemand(partial(read_keys, connection, spec), partial(present_keys, connection, spec))

    @contextmanager
    def placed_rows(self, spec: TableSpec, windows: Sequence[Window]) -> Iterator[ReadPlaces]:
        """The rows by the places of their keys, read in one statement, which is a transaction."""
        yield window_queries.placed(self._connection, spec, windows)

    def facts(self, wanted: Sequence[Wanted]) -> SourceFacts:
        """What `doctor` must know."""
        return read_facts(self._connection, wanted)

    def schemas(self) -> tuple[str, ...]:
        """A file has one."""
        return (SCHEMA,)

    def describe(self, shapes: Sequence[TableShape]) -> tuple[TableTraits, ...]:
        """What the file tells of each table's columns."""
        return tuple(describe(self._connection, shape) for shape in shapes)

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """How the file would be searched for each read."""
        return tuple(estimates(self._connection, plan) for plan in plans)

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Numbers]:
        """One read transaction, whose rows lie in a file until the block ends."""
        return open_snapshot(self._connection, self._file, plan)

    def compared(self, plan: SyncPlan, seek: Seek) -> AbstractContextManager[Numbers]:
        """One read transaction, compared with a copy by `seek`; the rows that differ lie in a file until the block ends."""
        return open_snapshot(self._connection, self._file, plan, seek)

    def _end(self, spec: TableSpec, end: End) -> CursorValue | None:
        return window_queries.end(self._connection, spec, end)

    def _fingerprint(self, spec: TableSpec, window: Window) -> Fingerprint:
        return window_queries.fingerprint(self._connection, spec, window)

    def _age(self, unread: Unread, clock: datetime) -> float | None:
        found = window_queries.oldest(self._connection, unread.spec, unread.window, unread.above)
        return None if found is None else (clock - utc(found)).total_seconds()


class Connections:
    """Implements `databases.dialect.Connections`. A file is opened in less time than a question takes, so that none is kept."""

    shares_snapshots = False

    def __init__(self, address: Address) -> None:
        self._address, self._path = address, Path(address.database)

    def close(self) -> None:
        """Nothing is kept."""

    def explained(self, table: TableId | None = None) -> AbstractContextManager[None]:
        """Turns whatever the library raises inside into an error of the family."""
        return explained(self._address, table)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A connection of its own, which cannot write."""
        with self.explained():
            # Before it is opened: of a file that is exchanged in between, what is kept is that of the one before, and the next look tells.
            file = _number_of(self._path)
            connection = open_file(self._address)
        try:
            with this_process.cancelling(connection.interrupt):
                yield Session(connection, self._path, file)
        finally:
            connection.close()


def _number_of(path: Path) -> str:
    """What the machine knows the file by; empty where there is none."""
    try:
        return str(path.stat().st_ino)
    except OSError:
        return ""


def open_file(address: Address) -> sqlite3.Connection:
    """The file, read-only; in autocommit, and waiting for a writer of a rollback journal. Raises SourceUnreachable, and what the library raises."""
    check_openable(address.database)
    connection = sqlite3.connect(
        f"file:{quote(address.database)}?mode=ro&cache=private",
        uri=True,
        timeout=address.socket_timeout.total_seconds(),
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        # A text that is not UTF-8 is in a row that goes to quarantine; others land.
        connection.text_factory = lambda stored: stored.decode("utf-8", "surrogateescape")
        set_all(connection, address.database)
        install(connection)
        _open_in_fact(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _open_in_fact(connection: sqlite3.Connection) -> None:
    question = "SELECT count(*) FROM sqlite_schema"
    try:
        connection.execute(question).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_of_one_entry(error):
            raise
        tolerate(connection)
        connection.execute(question).fetchone()
