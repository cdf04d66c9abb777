"""A session in which a log is looked at and read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.connect import driver_arguments
from incremental_assets.adapters.databases.postgresql.errors import explain
from incremental_assets.adapters.databases.postgresql.greeting import greet
from incremental_assets.adapters.databases.postgresql.pinned import deadline
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.adapters.databases.postgresql.sql import identifier
from incremental_assets.adapters.databases.sentences import place_of
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SourceRefused, SourceUnreachable

_NO_SENDER = "permission denied to start WAL sender"


@contextmanager
def opened(address: Address) -> Iterator[Asked]:
    """A session for questions and for the log by SQL. Raises SourceUnreachable, SourceRefused."""
    with explained(address):
        connection = Patient.connect(**driver_arguments(address))  # type: ignore[arg-type]
        with connection, this_process.cancelling(connection.abort):
            connection.autocommit = True
            connection.patience = (address.statement_timeout + address.socket_timeout).total_seconds()
            greet(connection, address)
            yield Asked(connection, address)


@contextmanager
def without_limit(asked: Asked) -> Iterator[None]:
    """One transaction in which a statement decodes whatever the slot holds, however long that takes."""
    with asked.held():
        patience, asked.connection.patience = asked.connection.patience, None
        try:
            asked.execute(deadline(None))
            yield
        finally:
            asked.connection.patience = patience


@contextmanager
def explained(address: Address) -> Iterator[None]:
    """Turn whatever the driver raises inside into an error of the family."""
    try:
        yield
    except errors.ObjectInUse as error:
        raise SourceUnreachable(
            f"{place_of(address)}: another session reads the replication slot ({_words(error)}); try again when it has ended"
        ) from None
    except psycopg.Error as error:
        # Of a connection that never was libpq tells no code.
        if isinstance(error, errors.InsufficientPrivilege) or _NO_SENDER in str(error):
            raise SourceRefused(
                f"{place_of(address)}: the user {address.user} may not read the log ({_words(error)}); as a superuser run "
                f"ALTER ROLE {identifier(address.user)} REPLICATION"
            ) from None
        raise explain(error, address, None) from None


def _words(error: psycopg.Error) -> str:
    return str(error.diag.message_primary or error).splitlines()[0]
