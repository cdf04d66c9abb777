"""How far the server has settled: the clock, then running statements, then open transactions, then prepared ones, each asked on its own.

The order carries the proof. A row that is stamped before the clock was read and is committed after the snapshot was, at the second question, either
still to be written, and its statement is running; or written, and its transaction is open at the third question, which comes later.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta

import pymysql

from incremental_assets.adapters.databases.host_clock import with_host_clock
from incremental_assets.adapters.databases.mysql.connect import Connection, Text
from incremental_assets.adapters.databases.mysql.flavour import MARIADB
from incremental_assets.adapters.databases.mysql.transactions import NO_PRIVILEGE, Active, Transactions
from incremental_assets.adapters.databases.mysql.zone import server_zone
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.source_identity import SourceIdentity

_CLOCK = "SELECT UTC_TIMESTAMP(6)"
_UPTIME = "SHOW GLOBAL STATUS WHERE Variable_name = 'Uptime'"
_SERVER = "SELECT {}, DATABASE(), @@global.time_zone, @@system_time_zone"
_CLUSTER = """
SHOW GLOBAL VARIABLES WHERE (Variable_name = 'wsrep_on' AND Value = 'ON') OR (Variable_name = 'group_replication_single_primary_mode' AND Value = 'OFF')
"""
_WRITTEN, _FLUSHED = (re.compile(rf"{words}\s+(\d+)") for words in ("Log sequence number", "Log flushed up to"))

# Neither sleepers, nor the server's own threads, nor those that send its log to a replica, nor this very question, which no number of a connection
# tells: a session may be given another's.
_RUNNING = """
SELECT id, user, host, UTC_TIMESTAMP(6) - INTERVAL {} MICROSECOND, user = 'system user' FROM information_schema.processlist
WHERE COALESCE(info, '') NOT LIKE %s AND command NOT IN ('Sleep', 'Daemon') AND command NOT LIKE 'Binlog Dump%%' ORDER BY time DESC
"""

_XA_REFUSED = 1401
_FOREVER = 2**32
"""Seconds that no server runs."""


def take_bound(connection: Connection, transactions: Transactions) -> Bound:
    """Ask on an autocommit connection, after the highest numbers and before any snapshot."""
    (clock, (written, _)), host = with_host_clock(lambda: (_moment(connection.row(_CLOCK)[0]), _positions(connection)))
    running, is_replica = _running(connection)
    opened, blind = transactions.read(connection)
    _, flushed = _positions(connection)
    held = [each for each in running if each.number not in opened.readers] + list(opened.writers)
    oldest = min(held, key=lambda each: each.began, default=None)
    server, database, *zones = connection.row(_SERVER.format(connection.flavour.server))
    return Bound(
        clock=clock,
        oldest=oldest.began if oldest else None,
        holder=oldest.who if oldest else "",
        prepared=_prepared(connection) if opened.orphans else None,
        blind=_blind(connection, is_replica=is_replica) or blind,
        zone=server_zone(*zones),
        identity=None if flushed is None else SourceIdentity.of(0, flushed, server=str(server), database=str(database)),
        # A start is cut to its second.
        newest=max((each.began for each in held), default=None),
        listed=_moment(connection.row(_CLOCK)[0]),
        host=host,
        replica=is_replica,
        uncommitted=bool(opened.changed) and _last(connection, transactions, opened.changed),
        written=written,
        flushed=flushed,
        started=_started(clock, int(connection.row(_UPTIME)[1])),
    )


def _started(clock: datetime, uptime: int) -> datetime:
    """Cut to a second: rather too late than too early. Where the clock was put back to before the start, the server counts below zero, without a sign."""
    return clock - timedelta(seconds=uptime) if uptime < _FOREVER else clock


def _running(connection: Connection) -> tuple[list[Active], bool]:
    """Statements with their start, and whether some thread applies the log of another server."""
    found = connection.rows(_RUNNING.format(connection.flavour.elapsed), (f"%{secrets.token_hex(8)}%",))
    applies = any(is_system == "1" for *_, is_system in found)
    return [
        Active(int(number or 0), _moment(began), f"connection {number}, {user}@{place}")
        for number, user, place, began, is_system in found
        if is_system != "1" and began is not None
    ], applies


def _last(connection: Connection, transactions: Transactions, changed: frozenset[str]) -> bool:
    """Whether one of them is still open a moment later: most are short, and what is over has nothing that is not committed."""
    later, blind = transactions.read(connection)
    return bool(blind) or not changed.isdisjoint(later.changed)


def _prepared(connection: Connection) -> str | None:
    """A prepared transaction without a client may have been stamped long before the start that it shows after a crash."""
    try:
        found = connection.rows("XA RECOVER")
    except pymysql.Error as error:
        if error.args[0] != _XA_REFUSED:
            raise
        return "of a client that is gone; GRANT XA_RECOVER_ADMIN ON *.* to this user shows whether it is prepared"
    if not found:
        # The server itself rolls one back, or keeps its statistics.
        return None
    return f"{found[0][3]!r}; end it with XA COMMIT or XA ROLLBACK"


def _blind(connection: Connection, *, is_replica: bool) -> str:
    if is_replica:
        return "a replica is read, and the transactions that are open on its primary cannot be seen there; read the primary, or set a `holdback`"
    if connection.rows(_CLUSTER):
        return "the server is one of a cluster in which others write as well, and the transactions that are open on the others cannot be seen; set a `holdback`"
    return ""


def _positions(connection: Connection) -> tuple[int | None, int | None]:
    """The bytes up to which InnoDB's log is written, and up to which it is on disk; None where the server tells them only with the privilege PROCESS, or not in words that are known."""
    try:
        found = connection.rows(connection.flavour.positions)
    except pymysql.OperationalError as error:
        if error.args[0] != NO_PRIVILEGE:
            raise
        return None, None
    if connection.flavour is MARIADB:
        values = {name: int(value) for name, value in found if value}
        return values.get("Innodb_lsn_current"), values.get("Innodb_lsn_flushed")
    ((_, _, words),) = found
    ends = [pattern.search(words or "") for pattern in (_WRITTEN, _FLUSHED)]
    written, flushed = (int(end[1]) if end else None for end in ends)
    return written, flushed


def _moment(text: Text) -> datetime:
    return datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
