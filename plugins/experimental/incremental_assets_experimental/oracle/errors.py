"""The server's refusals as sentences: what, where, and the cure. The server's own words follow where they say more."""

from __future__ import annotations

import re

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.sentences import (
    ALTERED,
    BUSY,
    FULL,
    NO_COLUMN,
    REFUSED,
    place_of,
    unconnected,
    unreachable,
)
from incremental_assets.core.errors import (
    IncrementalAssetsError,
    SourceFull,
    SourceRefused,
    SourceUnreachable,
    TableMissing,
)
from incremental_assets.core.model.table_id import TableId
from incremental_assets_experimental.oracle.connect import Lost
from incremental_assets_experimental.oracle.words import relation

_NO_LOGIN = (1005, 1017, 1045, 28000, 28001)
_NOT_TRUSTED = {"DPY-6002", "DPY-6006"}
_NO_SERVICE = {"DPY-6001", "DPY-6003"}
_NOT_CONNECTED = {"DPY-6000", "DPY-6005"}
_NO_LINE = {"DPY-1001", "DPY-3010", "DPY-4011", "DPY-4024"}
_NO_TABLE, _NO_COLUMN, _NOT_GRANTED = 942, 904, 1031
_ALTERED = (1466, 8103)
_TOO_OLD = 1555
_LOCKED = (54, 4021, 30006)
_DRIVERS, _SERVERS = re.compile(r"DPY-\d{4}"), re.compile(r"ORA-(\d{5})")
_ATTEMPT = re.compile(r"DPY-6005: cannot connect to database \(CONNECTION_ID=[^)]*\)\.?")
_QUOTED = re.compile(r'"[^"]*"')
_NO_ROOM = (18, 20, 2391, 12516, 12519, 12520)


def explain(error: BaseException, address: Address, table: TableId | None) -> IncrementalAssetsError | None:
    """One sentence for one error of the driver; None of another error."""
    if isinstance(error, Lost):
        return SourceUnreachable(f"{place_of(address)}: {unconnected(str(error), address)}")
    if type(error).__module__.partition(".")[0] != "oracledb":
        return None
    place, number, words = place_of(address), number_of(error), _words(error)
    kinds = set(_DRIVERS.findall(str(error)))
    # Hosts, services, tables and columns, which are quoted, may be called anything.
    told = _QUOTED.sub("", words).lower()
    of_tls = "certificate" in told or "ssl" in told
    if kinds & _NOT_TRUSTED or (kinds and of_tls):
        return SourceUnreachable(
            f"{place}: no connection under `tls: {address.tls}` ({words}); have the server listen by TCPS on this port, and name its authority in SSL_CERT_FILE; "
            "on a network that nobody else can read, `tls: disable` does without"
        )
    if number in _NO_LOGIN:
        return SourceUnreachable(
            f"{place}: the login of {address.user} is refused ({words}); check `user` and the secret that `password` refers to"
        )
    if kinds & _NO_SERVICE:
        return SourceUnreachable(
            f"{place}: the listener knows no service {address.database!r}; check `database`, which is a name of a service (`lsnrctl services` lists them)"
        )
    if number in _NO_ROOM:
        return SourceFull(f"{place}: {FULL.format(words)}")
    if kinds & _NOT_CONNECTED:
        return SourceUnreachable(f"{place}: {unconnected(words, address)}")
    if kinds & _NO_LINE:
        return SourceUnreachable(f"{place}: {unreachable(words, address)}")
    if table is not None and number == _NO_TABLE:
        return TableMissing(table)
    return SourceRefused(f"{table or place}: {_refused(number, words, address, table)}")


def number_of(error: BaseException) -> int:
    """The server's number of an error, or that of one of its own which the driver says is similar; 0 of any other."""
    told = error.args[0] if error.args else None
    found = _SERVERS.search(str(error))
    return int(getattr(told, "code", 0) or (found[1] if found else 0))


def hides(error: BaseException) -> bool:
    """Whether it says that a view is not granted to this user: it is then as if it did not exist."""
    return number_of(error) in (_NO_TABLE, _NOT_GRANTED)


def _refused(number: int, words: str, address: Address, table: TableId | None) -> str:
    if number == _NO_COLUMN:
        return NO_COLUMN.format(words)
    if number in _ALTERED:
        return ALTERED.format(words)
    if number in (_NO_TABLE, _NOT_GRANTED):
        cure = f"GRANT SELECT ON {relation(table)}" if table else "`doctor --sql` prints the grants"
        return f"the user {address.user} lacks a privilege ({words}); {cure}"
    if number == _TOO_OLD:
        return f"the server no longer has the rows as they were when the read began ({words}); raise UNDO_RETENTION and the undo tablespace, or read less at once"
    if number in _LOCKED:
        return f"{BUSY} ({words}); run the sync again when it is free"
    return REFUSED.format(words or f"error {number}")


def _words(error: BaseException) -> str:
    """The driver's words, without its links to pages on the web and without the id of the attempt to connect."""
    lines = [line.strip() for line in _ATTEMPT.sub("", str(error)).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith("Help:")).rstrip(".")
