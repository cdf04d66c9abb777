"""A connection through python-oracledb: its deadlines, its TLS, and the settings of its session. The driver is loaded here alone, when it is needed."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from threading import Thread
from typing import Any

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.core.extras import Extra
from incremental_assets_experimental.oracle import settings
from incremental_assets_experimental.rowwise.row_dialect import Row

DRIVER = Extra("oracle", "the driver of Oracle is not installed", ("oracledb",))

_AT_ONCE = 500


class Lost(Exception):
    """The server does not answer."""


def driver() -> Any:
    """The module of the driver. Raises SetupError where it is not installed."""
    DRIVER.require()
    return import_module("oracledb")


class Connection:
    """Implements `rowwise.row_dialect.RowConnection`, outside of any transaction but in `snapshot`."""

    def __init__(self, address: Address) -> None:
        self._driver = driver()
        self._opened = _in_time(lambda: self._driver.connect(**terms(address)), address)
        try:
            self._opened.call_timeout = round(1000 * address.statement_timeout.total_seconds())
            for statement in settings.statements():
                self.execute(statement)
            settings.check(self.rows, place_of(address))
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str) -> Iterator[Row]:
        """An answer, as it arrives."""
        with closing(self._opened.cursor()) as cursor:
            cursor.arraysize = _AT_ONCE
            cursor.outputtypehandler = self._undecoded
            cursor.execute(sql, fetch_lobs=False, fetch_decimals=True)
            while found := cursor.fetchmany():
                yield from found

    def execute(self, sql: str) -> None:
        """A statement without an answer."""
        with closing(self._opened.cursor()) as cursor:
            cursor.execute(sql)

    @contextmanager
    def snapshot(self) -> Iterator[bool]:
        """One view of every table from here on. A table that is altered meanwhile refuses to be read in it."""
        self.execute("SET TRANSACTION READ ONLY")
        try:
            yield True
        finally:
            # Where the connection is lost, the transaction went with it.
            with suppress(self._driver.Error):
                self.execute("ROLLBACK")

    def abort(self) -> None:
        """Abort from another thread: whatever waits for an answer fails at once."""
        with suppress(Exception):
            self._opened.cancel()

    def close(self) -> None:
        """Close the connection, whatever the server answers."""
        with suppress(Exception):
            self._opened.close()

    def _undecoded(self, cursor: Any, found: Any) -> Any:
        """A byte that is no character comes as half a surrogate, so that it spoils one value and not the answer."""
        kinds = self._driver
        if found.type_code in (kinds.DB_TYPE_VARCHAR, kinds.DB_TYPE_CHAR, kinds.DB_TYPE_LONG):
            errors = "surrogateescape"
        elif found.type_code in (kinds.DB_TYPE_NVARCHAR, kinds.DB_TYPE_NCHAR):
            errors = "surrogatepass"
        else:
            return None
        return cursor.var(found.type_code, found.internal_size, arraysize=cursor.arraysize, encoding_errors=errors)


def terms(address: Address) -> dict[str, Any]:
    """The arguments of the driver's connection."""
    return {
        "user": address.user,
        "password": address.password,
        "host": address.host,
        "port": address.port,
        "service_name": address.database,
        "tcp_connect_timeout": address.connect_timeout.total_seconds(),
        "retry_count": 0,
        # Minutes after which a silent line is asked whether the other side is still there.
        "expire_time": 1,
        "program": "incremental-assets",
        **tls(address),
    }


def tls(address: Address) -> dict[str, Any]:
    """The authorities are those of the system, or of SSL_CERT_FILE."""
    if address.tls == "disable":
        return {"protocol": "tcp"}
    context = ssl.create_default_context()
    context.check_hostname = address.tls == "verify-full"
    if address.tls == "require":
        context.verify_mode = ssl.CERT_NONE
    return {"protocol": "tcps", "ssl_context": context, "ssl_server_dn_match": address.tls == "verify-full"}


def _in_time(connect: Callable[[], Any], address: Address) -> Any:
    """Connects within the connect timeout. Raises Lost after it: the driver waits forever for the greeting of a server that accepts and stays silent, and is left to do so in its thread."""
    found: Future[Any] = Future()

    def work() -> None:
        try:
            found.set_result(connect())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            found.set_exception(error)

    Thread(target=work, daemon=True).start()
    try:
        return found.result(address.connect_timeout.total_seconds())
    except TimeoutError:
        found.add_done_callback(lambda late: None if late.exception() else late.result().close())
        raise Lost("timed out") from None
