"""The server's refusals as sentences: what, where, and the cure. The server's own words follow where they say more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pymysql

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.mysql.sql import relation
from incremental_assets.adapters.databases.sentences import (
    ALTERED,
    FULL,
    LOST,
    NO_COLUMN,
    REFUSED,
    TURNED_AWAY,
    cancelled,
    no_database,
    place_of,
    unanswered,
    unknown_host,
    untrusted,
)
from incremental_assets.core.errors import (
    IncrementalAssetsError,
    SourceFull,
    SourceRefused,
    SourceUnreachable,
    TableMissing,
)
from incremental_assets.core.model.table_id import TableId

_PASSWORD, _NO_DATABASE, _NOT_IN_DATABASE = 1045, 1049, 1044
NO_TABLE, _NO_COLUMN, _ALTERED = 1146, 1054, 1412
LOCK_WAIT = 1205
_NOT_GRANTED = (1142, 1143, 1227)
TOO_LONG = (1969, 3024, 1317)
_NO_ROOM = (1040, 1203, 1226)
_TURNED_AWAY = (3118, 4151, 1820, 1862)
"""An account that is locked, in MySQL and in MariaDB, and a password that has expired."""
_TLS = 2026
_NO_FUNCTION = (1305, 1370)
"""Neither one of the server's own nor a stored one, as who may not run that one is answered, too."""
MISSING_MD5 = "the server has no MD5(), by which rows are compared with a copy: since version 9.6 MySQL has it in a component alone"
INSTALL_MD5 = "INSTALL COMPONENT 'file://component_classic_hashing'"
_CONNECT_SCRIPT, _PACKET = 1184, 1153
_CUT = (2006, 2013, 1053, 1927)
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
    number, words = parts_of(error)
    place = place_of(address)
    if table is not None and number == NO_TABLE and f"{table.schema}.{table.name}" in words:
        return TableMissing(table)
    if table is not None and number == _PASSWORD:
        # Whoever asks about a table is connected: the server says so of a view whose DEFINER it does not know.
        return SourceRefused(
            f"{table}: the server lets nobody read this view, as its DEFINER is no user of its own ({words}); make that user, or the view anew by another"
        )
    if number in _NO_ROOM:
        return SourceFull(f"{place}: {FULL.format(words)}")
    if number in (_PASSWORD, _NO_DATABASE, _NOT_IN_DATABASE, _TLS, _NO_HOST, *_CUT, 0):
        return SourceUnreachable(f"{place}: {_unreachable(number, words, address)}")
    if number in _TURNED_AWAY:
        return SourceUnreachable(f"{place}: {TURNED_AWAY.format(words)}")
    if number == _CONNECT_SCRIPT:
        return SourceRefused(
            f"{place}: what the server runs when {address.user} connects fails ({words}); correct its `init_connect`, or let this user pass it by"
        )
    return SourceRefused(f"{table or place}: {_refused(number, words, address, table)}")


def _refused(number: int, words: str, address: Address, table: TableId | None) -> str:
    if number == _NO_COLUMN:
        return NO_COLUMN.format(words)
    if number == _ALTERED:
        return ALTERED.format(words)
    if number == _PACKET:
        return f"a question to this table is longer than the server allows ({words}); SET GLOBAL max_allowed_packet to some megabytes"
    if number in _NO_FUNCTION and "MD5" in words.upper():
        return f"{MISSING_MD5} ({words}); as an administrator run {INSTALL_MD5}"
    if number in _NOT_GRANTED:
        cure = f"GRANT SELECT ON {relation(table)}" if table else "`doctor --sql` prints the grants"
        return f"the user {address.user} lacks a privilege ({words}); {cure}"
    if number in TOO_LONG:
        return cancelled(words, address)
    return REFUSED.format(words)


def parts_of(error: pymysql.Error) -> tuple[int, str]:
    """The number of an error, 0 where it has none, and its words in one line."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    words = str(error.args[-1]) if error.args else type(error).__name__
    return number, " ".join(words.split()).rstrip(".")


def _unreachable(number: int, words: str, address: Address) -> str:
    # A host may be called anything.
    low = words.lower().replace(f"'{address.host.lower()}'", "")
    if number == _PASSWORD:
        return f"the password of {address.user} is refused, or this user may not come from here, or not without TLS; check `user` and the secret that `password` refers to"
    if number in (_NO_DATABASE, _NOT_IN_DATABASE):
        return no_database(address)
    if number == _TLS or "ssl" in low or "certificate" in low:
        return untrusted(words, address)
    if number in _CUT:
        return LOST.format(words)
    return unknown_host(words, address) or unanswered(words)
