"""What a new connection leads to: a server that we can read, or a pooler that can lend us one of its connections for a transaction."""

from __future__ import annotations

import psycopg

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.postgresql.pinned import END, MAY_MARK, deadline
from incremental_assets.adapters.databases.postgresql.read_timeout import Patient
from incremental_assets.core.errors import SourceRefused

OLDEST_VERSION = 140000
"""The oldest version: before it extract() was a float and blocks could not be read in ranges."""
TOO_OLD = "this is PostgreSQL {}; version 14 or later is needed"
BY_STATEMENTS = (
    "this is a pooler that gives each statement another connection ({}), and a sync needs transactions, so nothing was asked; "
    "have it pool by transactions or sessions (in PgBouncer `pool_mode = transaction`), or give the address of the server itself"
)
OTHER_ENCODING = (
    "the pooler does not pass on that this client writes UTF-8 (it says {}), so that texts would be read as others, and nothing was asked; "
    "have it pass on client_encoding, or give the address of the server itself"
)

_IDLE = "SET LOCAL idle_in_transaction_session_timeout = 0"


def greet(driver: Patient, address: Address) -> None:
    """Find out what answers, by a transaction that sets nothing but its own deadlines. Raises SourceRefused where it cannot serve us."""
    place = f"{address.host}:{address.port}"
    if driver.info.server_version < OLDEST_VERSION:
        raise SourceRefused(f"{place}: {TOO_OLD.format(driver.info.parameter_status('server_version'))}")
    encoding = driver.info.parameter_status("client_encoding") or "nothing"
    if encoding.upper().replace("-", "") != "UTF8":
        raise SourceRefused(f"{place}: {OTHER_ENCODING.format(encoding)}")
    with psycopg.RawCursor(driver) as asked:
        try:
            # A message of its own, behind which a pooler says what it is. A role's limit may be of milliseconds.
            asked.execute(
                f"BEGIN ISOLATION LEVEL READ COMMITTED, READ ONLY; {deadline(address.statement_timeout, driver.info.server_version)}; {_IDLE}"
            )
        except psycopg.errors.ProtocolViolation as error:
            # Pooled by statements, it ends the connection of a client that begins a transaction.
            if "statement pooling" not in str(error):
                raise
            raise SourceRefused(f"{place}: {BY_STATEMENTS.format(str(error).rstrip('.'))}") from None
        asked.execute(f"SELECT pg_catalog.pg_backend_pid(), {MAY_MARK}")
        pid, driver.marked = asked.fetchone() or (0, False)
        asked.execute(END)
    # A pooler makes up the number by which its client may cancel.
    driver.pooled = pid != driver.info.backend_pid
