"""The server's refusals as sentences: what, where, and the cure. The server's own words follow where they say more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pymysql

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.sql import relation
from incremental_assets.adapters.databases.sentences import ALTERED, NO_COLUMN, place_of
from incremental_assets.core.errors import IncrementalAssetsError, SourceRefused, SourceUnreachable, TableMissing
from incremental_assets.core.model.table import TableId
from incremental_assets.core.words import age

_PASSWORD, _NO_DATABASE, _NOT_IN_DATABASE = 1045, 1049, 1044
_NO_TABLE, _NO_COLUMN, _ALTERED = 1146, 1054, 1412
_NOT_GRANTED = (1142, 1143, 1227)
_TOO_LONG = (1969, 3024, 1317)
_FULL = (1040, 1203, 1226)
_TLS = 2026
_LOST = (2006, 2013, 1053, 1927)
_NO_HOST = 2003


@contextmanager
def explained(address: Address, table: TableId | None = None) -> Iterator[None]:
    """Turn whatever the driver raises inside into an error of the family."""
    try:
        yield
    except pymysql.Error as error:
        raise explain(error, address, table) from None


def explain(error: pymysql.Error, address: Address, table: TableId | None) -> IncrementalAssetsError:
    """One sentence for one error of the driver."""
    number, words = _parts(error)
    place = place_of(address)
    if table is not None and number == _NO_TABLE and f"{table.schema}.{table.name}" in words:
        return TableMissing(table)
    if number in (_PASSWORD, _NO_DATABASE, _NOT_IN_DATABASE, _TLS, _NO_HOST, *_LOST, *_FULL, 0):
        return SourceUnreachable(f"{place}: {_unreachable(number, words, address)}")
    subject = table or place
    if number == _NO_COLUMN:
        return SourceRefused(f"{subject}: {NO_COLUMN.format(words)}")
    if number == _ALTERED:
        return SourceRefused(f"{subject}: {ALTERED.format(words)}")
    if number in _NOT_GRANTED:
        cure = f"GRANT SELECT ON {relation(table)}" if table else "`doctor --sql` prints the grants"
        return SourceRefused(f"{subject}: the user {address.user} lacks a privilege ({words}); {cure}")
    if number in _TOO_LONG:
        cure = "add an index on the cursor, `doctor --sql` prints it, or raise `options: {statement_timeout: …}`"
        return SourceRefused(
            f"{subject}: the source gave up on the question after {age(address.statement_timeout.total_seconds())} ({words}); {cure}"
        )
    return SourceRefused(f"{subject}: the source refused the question: {words}")


def _unreachable(number: int, words: str, address: Address) -> str:
    # A host may be called anything.
    low = words.lower().replace(f"'{address.host.lower()}'", "")
    if number == _PASSWORD:
        return f"the password of {address.user} is refused, or this user may not come from here; check `user` and the secret that `password` refers to"
    if number in (_NO_DATABASE, _NOT_IN_DATABASE):
        return f"there is no database {address.database!r} on this server, or {address.user} may not use it; check `database`, `doctor --sql` prints the grants"
    if number in _FULL:
        return f"the server has no connection left ({words}); try again, or lower `parallel: {{connections: …}}`"
    if number == _TLS or "ssl" in low or "certificate" in low:
        return (
            f"no connection under `tls: {address.tls}` ({words}); switch TLS on in the server, and name its authority in SSL_CERT_FILE; "
            "a source on this machine may have `tls: disable`"
        )
    if number in _LOST:
        return f"the connection was lost ({words}); the next sync goes on where this one stopped"
    if "name or service not known" in low or "resolution" in low:
        return f"the host {address.host!r} is not known; check `host`"
    return f"the database does not answer ({words}); check `host` and `port`, and that it runs and may be reached from here"


def _parts(error: pymysql.Error) -> tuple[int, str]:
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    words = str(error.args[-1]) if error.args else type(error).__name__
    return number, " ".join(words.split()).rstrip(".")
