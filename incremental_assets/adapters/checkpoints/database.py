"""The connection to the checkpoint database: SQLite by default, PostgreSQL by URL. Short transactions, its own clock, one error."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from sqlite3 import (
    SQLITE_BUSY,
    SQLITE_CANTOPEN,
    SQLITE_CORRUPT,
    SQLITE_FULL,
    SQLITE_IOERR,
    SQLITE_LOCKED,
    SQLITE_NOTADB,
    SQLITE_PERM,
    SQLITE_READONLY,
)
from sqlite3 import Connection as SqliteConnection
from sqlite3 import DatabaseError as SqliteDatabaseError
from sqlite3 import OperationalError as SqliteError
from typing import Any

from sqlalchemy import URL, ColumnElement, Connection, Insert, Table, create_engine, event, func, make_url, type_coerce
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from incremental_assets.adapters.checkpoints.schema import SHIPPED, Schema, check, migrate, version_of
from incremental_assets.adapters.checkpoints.tables import Instant
from incremental_assets.adapters.permissions import own_file, own_folder
from incremental_assets.core.errors import CheckpointsUnreachable, CheckpointsUnreadable, SetupError

WAIT = 30
"""Seconds that a statement waits for another writer. Transactions here last milliseconds, so more is a fault."""

MIGRATION_LOCK = 0x1AC8EC4B01
"""PostgreSQL's advisory lock under which one process at a time migrates: a number of our own, and no more than that."""

_PATIENCE: dict[str, Any] = {  # libpq's defaults wait forever on a dead socket
    "connect_timeout": 10,
    "tcp_user_timeout": WAIT * 1000,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "application_name": "incremental-assets checkpoints",
}

_PORT = 5432
"""PostgreSQL's, where the URL names none."""
_NEEDED = 1 << 20
"""Bytes of a disk: with fewer, an I/O error of SQLite, which needs room even to read, is taken for the lack of them."""

_SESSION = (
    f"SET lock_timeout = '{WAIT}s'",
    f"SET statement_timeout = '{2 * WAIT}s'",
    # A process that is stopped within a transaction gives back its locks.
    f"SET idle_in_transaction_session_timeout = '{WAIT}s'",
    # The query of all positions looks costly to the planner, and compiling it costs more than running it.
    "SET jit = off",
)


class Database:
    """Opens itself at the first use, at the newest version; without `writes` it is left as it is. Raises CheckpointsUnreachable, CheckpointsUnreadable, CheckpointsTooNew."""

    def __init__(self, url: str, schema: Schema = SHIPPED, *, writes: bool = True) -> None:
        self._url, self._schema, self._writes = _parsed(url), schema, writes
        self.is_postgresql = self._url.get_backend_name() == "postgresql"
        self.name = _without_secrets(self._url)
        self._engine = _postgresql(self._url) if self.is_postgresql else _sqlite(self._url, writes=writes)
        self._opening = threading.Lock()
        self._ready: object = None

    @property
    def exists(self) -> bool:
        """False for a SQLite file that is not there, so that a reader need not create it; without `writes`, for an empty database too."""
        return (self.is_postgresql or self._file.exists()) and (self._writes or self._has_begun())

    @contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[Connection]:
        """One transaction. `writes`: it excludes every other writer of SQLite from its beginning."""
        with self._explained():
            self._open()
            with self._begin(writes=writes) as connection:
                yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DataError, IntegrityError):
            raise  # a fault of this program, not of the database
        except (DBAPIError, PoolTimeoutError, OSError, SqliteDatabaseError) as error:
            if _is_no_database(error):
                raise CheckpointsUnreadable(str(self._file), self._reason(error)) from None
            # Without the cause: it contains the connection's arguments, which a debugger would print.
            raise CheckpointsUnreachable(self.name, self._reason(error), self._cure(error)) from None

    def now(self, offset: timedelta = timedelta()) -> ColumnElement[Any]:
        """The database's clock, not the transaction's, moved by `offset`."""
        if self.is_postgresql:
            return type_coerce(func.clock_timestamp(type_=TIMESTAMP(timezone=True)) + offset, Instant)
        return type_coerce(func.strftime("%Y-%m-%d %H:%M:%f", "now", f"{offset.total_seconds():+.3f} seconds"), Instant)

    def upsert(self, table: Table, row: Mapping[str, Any]) -> Insert:
        """Insert a row, or set these columns where its key is there."""
        insert = self._insert(table).values(row)
        changed = {name: insert.excluded[name] for name in row if not table.c[name].primary_key}
        return insert.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed)

    def insert_missing(self, table: Table, row: Mapping[str, Any]) -> Insert:
        """Insert a row unless its key is there."""
        return self._insert(table).values(row).on_conflict_do_nothing(index_elements=list(table.primary_key))

    def _insert(self, table: Table) -> Any:
        return (postgresql.insert if self.is_postgresql else sqlite.insert)(table)

    def close(self) -> None:
        """Give back every connection; the next use opens again."""
        self._engine.dispose()

    @property
    def file(self) -> str | None:
        """Of SQLite, the file; None of a server's database."""
        return None if self.is_postgresql else str(self._file)

    @property
    def host(self) -> str:
        """Of a server; a folder of sockets where its address names one, empty where it names none."""
        return str(self._url.host or self._url.query.get("host") or "")

    @property
    def port(self) -> int:
        """Of a server."""
        return self._url.port or _PORT

    @property
    def database(self) -> str:
        """Its name on the server."""
        return self._url.database or self._url.username or ""

    @property
    def _file(self) -> Path:
        return Path((self._url.database or "").removeprefix("file:"))

    def _has_begun(self) -> bool:
        with self._explained(), self._begin() as connection:
            return version_of(connection) > 0

    def _open(self) -> None:
        if self._ready is not None and self._ready == self._identity():
            return
        with self._opening:
            if self._ready is not None and self._ready == self._identity():
                return
            if not self.is_postgresql:
                # Connections to a file that was deleted since would go on writing to nowhere.
                self._engine.dispose()
                if self._writes:
                    own_folder(self._file.parent)
                    own_file(self._file)
            with self._begin() as connection:
                current = check(connection, self._schema, self.name)
            if not current and not self._writes:
                raise SetupError(
                    f"the checkpoint database {self.name} was written by an earlier release, and this command writes nothing: "
                    "`incremental-assets status` brings it up to date"
                )
            if not current:
                self._migrate()
            self._ready = self._identity()

    def _migrate(self) -> None:
        with self._begin(writes=True) as connection:
            if self.is_postgresql:
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
                connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
                connection.execute(func.pg_advisory_xact_lock(MIGRATION_LOCK).select())
            # Another process may have been quicker while this one waited.
            if not check(connection, self._schema, self.name):
                migrate(connection, self._schema)

    def _identity(self) -> object:
        if self.is_postgresql:
            return self.name
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    @contextmanager
    def _begin(self, *, writes: bool = False) -> Iterator[Connection]:
        # Readers see one state of the database throughout; a writer sees at each statement what the lock it waited for protects.
        level = {"isolation_level": "READ COMMITTED" if writes else "REPEATABLE READ"} if self.is_postgresql else {}
        with self._engine.connect().execution_options(writes=writes, **level) as connection, connection.begin():
            yield connection

    def _reason(self, error: Exception) -> str:
        text = " ".join(str(getattr(error, "orig", None) or error).split())
        for secret in filter(None, (self._url.password, self._url.query.get("password"))):
            text = text.replace(str(secret), "***")
        return text[:300]

    def _cure(self, error: Exception) -> str:
        code = _code(error)
        if code == SQLITE_FULL or (code == SQLITE_IOERR and _is_full(self._file.parent)):
            return "its disk is full; make room there, and try again"
        if code in (SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY):
            return "this user may not write it; allow it to write the file and its folder, and try again"
        return "try again when it answers"

    def __repr__(self) -> str:
        return f"Database({self.name!r})"


def _is_no_database(error: Exception) -> bool:
    """Whether the file is broken or not a SQLite database: waiting helps with neither."""
    return _code(error) in (SQLITE_NOTADB, SQLITE_CORRUPT)


def _code(error: Exception) -> int:
    """SQLite's primary result code, which is the lowest byte; 0 for an error of any other database."""
    code: int = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", 0)
    return code & 0xFF


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _NEEDED
    except OSError:
        return False


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError:
        parsed = None  # without the cause, which quotes the text and any password in it
    if parsed is not None and parsed.drivername in ("postgresql", "postgresql+psycopg"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed is not None and parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed
    raise SetupError(
        "the checkpoints are kept in sqlite:///path/to/checkpoints.db or in postgresql://user@host/database; the URL given is neither"
    )


def _without_secrets(url: URL) -> str:
    """The address for people, without what follows the `?`, which may be as secret as a password."""
    shown = URL.create(url.get_backend_name(), url.username, None, url.host, url.port, url.database)
    return shown.render_as_string()


def _postgresql(url: URL) -> Any:
    engine = create_engine(
        url,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={name: value for name, value in _PATIENCE.items() if name not in url.query},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        for statement in _SESSION:
            connection.execute(statement)
        connection.commit()

    return engine


def _sqlite(url: URL, *, writes: bool) -> Any:
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": WAIT})

    @event.listens_for(engine, "connect")
    def prepare(connection: SqliteConnection, _: Any) -> None:
        # The module's own transactions begin too late, at the first write: what was read before it may be old.
        connection.isolation_level = None
        if writes:
            _write_ahead(connection)
        else:
            # Not `mode=ro`, which would leave the files of a write-ahead log behind, of a user who may not be the file's.
            connection.execute("PRAGMA query_only = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        excludes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if excludes else "BEGIN")

    return engine


def _write_ahead(connection: SqliteConnection) -> None:
    """Set the journal mode WAL, in which readers do not wait for the writer. It is a property of the file, and its first change does not wait for others."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except SqliteError as error:
            if _code(error) not in (SQLITE_BUSY, SQLITE_LOCKED) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
