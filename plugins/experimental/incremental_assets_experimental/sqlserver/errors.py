"""The server's refusals as sentences: what, where, and the cure. The server's own words follow where they say more."""

from __future__ import annotations

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.sentences import (
    ALTERED,
    BUSY,
    FULL,
    NO_COLUMN,
    REFUSED,
    no_database,
    place_of,
    unconnected,
    unreachable,
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
from incremental_assets.core.words import age
from incremental_assets_experimental.sqlserver.connect import Lost, NotReached
from incremental_assets_experimental.sqlserver.words import relation

_NO_LOGIN = (18452, 18456, 18470, 18486, 18487, 18488)
_NO_DATABASE = (4060, 4064, 911)
_NO_TABLE, _NO_COLUMN = 208, 207
_ALTERED = (3961, 3962, 4891)
_NOT_GRANTED = (229, 230, 297, 300, 916, 6004)
_LOCKED, _DEADLOCK = 1222, 1205
_NO_ROOM = (10928, 10929, 17809, 40501)


def explain(error: BaseException, address: Address, table: TableId | None) -> IncrementalAssetsError | None:
    """One sentence for one error of the driver; None of another error."""
    place = place_of(address)
    if isinstance(error, Lost):
        why = unconnected if isinstance(error, NotReached) else unreachable
        return SourceUnreachable(f"{place}: {why(_words(error), address)}")
    if type(error).__module__.partition(".")[0] not in ("pytds", "OpenSSL"):
        return None
    number, words = int(getattr(error, "msg_no", 0) or 0), _words(error)
    # The server's own errors quote names of tables and columns, which may be called anything.
    of_tls = "certificate" in words.lower() or "encryption" in words.lower()
    if type(error).__module__.startswith("OpenSSL") or (not number and of_tls):
        return SourceUnreachable(f"{place}: {untrusted(words, address)}")
    if number in _NO_LOGIN:
        return SourceUnreachable(
            f"{place}: the login of {address.user} is refused ({words}); check `user` and the secret that `password` refers to"
        )
    if number in _NO_DATABASE:
        return SourceUnreachable(f"{place}: {no_database(address)}")
    if number in _NO_ROOM:
        return SourceFull(f"{place}: {FULL.format(words)}")
    if table is not None and number == _NO_TABLE and table.name in words:
        return TableMissing(table)
    return SourceRefused(f"{table or place}: {_refused(number, words, address, table)}")


def _refused(number: int, words: str, address: Address, table: TableId | None) -> str:
    if number == _NO_COLUMN:
        return NO_COLUMN.format(words)
    if number in _ALTERED:
        return ALTERED.format(words)
    if number in _NOT_GRANTED:
        cure = f"GRANT SELECT ON {relation(table)}" if table else "`doctor --sql` prints the grants"
        return f"the user {address.user} lacks a permission ({words}); {cure}"
    if number == _LOCKED:
        waited = age(address.socket_timeout.total_seconds())
        return f"{BUSY} for longer than {waited} ({words}); run the sync again when it is free, or raise `options: {{socket_timeout: …}}`"
    if number == _DEADLOCK:
        return f"this session and another one waited for each other, and the server ended this one ({words}); run the sync again"
    return REFUSED.format(words or f"error {number}")


def _words(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
