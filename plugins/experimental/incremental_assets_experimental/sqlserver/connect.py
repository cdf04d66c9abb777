"""A connection through python-tds: its deadlines, its TLS, and the settings of its session. The driver is loaded here alone, when it is needed."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.core.errors import SetupError, SourceRefused
from incremental_assets.core.extras import Extra
from incremental_assets_experimental.rowwise.row_dialect import Row
from incremental_assets_experimental.sqlserver import settings

DRIVER = Extra("sqlserver", "the driver of SQL Server is not installed", ("pytds", "OpenSSL"))

_AT_ONCE = 2_000
_SNAPSHOTS = "SELECT snapshot_isolation_state FROM sys.databases WHERE database_id = DB_ID()"


class Lost(Exception):
    """The server does not answer, or no longer; the message is the system's."""


class NotReached(Lost):
    """The same before there is a connection."""


def driver() -> Any:
    """The module of the driver. Raises SetupError where it is not installed."""
    DRIVER.require()
    return import_module("pytds")


class Connection:
    """Implements `rowwise.row_dialect.RowConnection`, outside of any transaction but in `snapshot`."""

    def __init__(self, address: Address) -> None:
        self._driver, self._line = driver(), _reached(address)
        self._opened: Any = None
        try:
            with self._answered(NotReached):
                self._opened = self._driver.connect(
                    address.host,
                    address.database,
                    address.user,
                    address.password,
                    port=address.port,
                    sock=self._line,
                    autocommit=True,
                    appname="incremental-assets",
                    login_timeout=_seconds(address.connect_timeout),
                    timeout=_seconds(address.statement_timeout),
                    disable_connect_retry=True,
                    **tls(address),
                )
            for statement in statements(address):
                self.execute(statement)
            settings.check(self.rows, place_of(address))
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str) -> Iterator[Row]:
        """An answer, as it arrives."""
        with self._answered(), closing(self._opened.cursor()) as cursor:
            cursor.execute(sql)
            while found := cursor.fetchmany(_AT_ONCE):
                yield from (tuple(row) for row in found)

    def execute(self, sql: str) -> None:
        """A statement without an answer."""
        with self._answered(), closing(self._opened.cursor()) as cursor:
            cursor.execute(sql)

    @contextmanager
    def snapshot(self) -> Iterator[bool]:
        """One view of every table from the first question on; where the database allows none, each question has its own, and the bound says so."""
        ((allowed,),) = self.rows(_SNAPSHOTS)
        if allowed != 1:
            yield False
            return
        self.execute("SET TRANSACTION ISOLATION LEVEL SNAPSHOT")
        self.execute("BEGIN TRANSACTION")
        try:
            yield True
        finally:
            # Where the connection is lost, the transaction went with it.
            with suppress(Lost, self._driver.Error):
                self.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
                self.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def abort(self) -> None:
        """Abort from another thread: whatever waits for an answer fails at once."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, whatever the server answers."""
        if self._opened is not None:
            with suppress(Exception):
                self._opened.close()
        self._line.close()

    @contextmanager
    def _answered(self, kind: type[Lost] = Lost) -> Iterator[None]:
        """Errors of the line as one kind: the driver passes those of the system on, and has a second one for a line that is closed."""
        try:
            yield
        except (OSError, self._driver.ClosedConnectionError) as error:
            raise kind(str(error) or type(error).__name__) from None


def statements(address: Address) -> tuple[str, ...]:
    """What sets the session so that a statement means the same whatever the server's defaults are."""
    return (*settings.SETTINGS, *settings.UNTOLD, f"SET LOCK_TIMEOUT {_seconds(address.socket_timeout) * 1000}")


def tls(address: Address) -> dict[str, Any]:
    """The authorities are those of the system, or of SSL_CERT_FILE. The driver has no encryption without a check of the certificate."""
    if address.tls == "disable":
        return {}
    paths = ssl.get_default_verify_paths()
    known = paths.cafile or paths.openssl_cafile
    if not known or not Path(known).is_file():
        raise SetupError(
            f"{address.host}: `tls: {address.tls}` needs a file of authorities, and this machine names none; set SSL_CERT_FILE to one"
        )
    if address.tls == "require":
        raise SourceRefused(
            f"{address.host}: with SQL Server `tls: require` is not supported, as the driver encrypts only where it checks the certificate; "
            "write `tls: verify-ca`, and name the server's authority in SSL_CERT_FILE"
        )
    return {"cafile": known, "validate_host": address.tls == "verify-full"}


def _reached(address: Address) -> socket.socket:
    """A line that notices when the other side is gone."""
    try:
        line = socket.create_connection((address.host, address.port), address.connect_timeout.total_seconds())
    except OSError as error:
        raise NotReached(str(error)) from None
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    silence = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
    silence["TCP_USER_TIMEOUT"] = 1000 * _seconds(address.socket_timeout)
    for name, value in silence.items():
        if hasattr(socket, name):
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return line


def _seconds(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds()))
