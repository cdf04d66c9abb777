"""How far the server has settled: the clock, then running statements, then open transactions, then prepared ones, each asked on its own.

The order carries the proof. A row that is stamped before the clock was read and is committed after the snapshot was, at the second question, either
still to be written, and its statement is running; or written, and its transaction is open at the third question, which comes later.

The list of open transactions is a copy that the server renews only where nobody has read it for 100 ms, so that whoever looks often keeps it old.
Ours is trusted only where it shows the very question that reads it: then it was made for this question.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pymysql

from incremental_assets.adapters.databases.host_clock import with_host_clock
from incremental_assets.adapters.databases.mysql.connect import UTC as UTC_OFFSET
from incremental_assets.adapters.databases.mysql.connect import Connection, Text
from incremental_assets.adapters.databases.mysql.zone import server_zone
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.planning.bound import Bound

PATIENCE = (0.0, 0.12, 0.15, 0.2, 0.3, 0.4)
"""Seconds before each look at the list of transactions: more than the 100 ms for which nobody may have read it."""

_CLOCK = "SELECT UTC_TIMESTAMP(6)"
_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Uptime', 'Innodb_lsn_current', 'Innodb_lsn_flushed')"
_SERVER = "SELECT @@server_id, DATABASE(), @@global.time_zone, @@system_time_zone"
_CLUSTER = "SHOW GLOBAL VARIABLES WHERE Variable_name = 'wsrep_on' AND Value = 'ON'"

# Neither sleepers, nor the server's own threads, nor those that send its log to a replica.
_RUNNING = """
SELECT id, user, host, UTC_TIMESTAMP(6) - INTERVAL CAST(time_ms * 1000 AS SIGNED) MICROSECOND, user = 'system user' FROM information_schema.processlist
WHERE id <> CONNECTION_ID() AND command NOT IN ('Sleep', 'Daemon') AND command NOT LIKE 'Binlog Dump%%' ORDER BY time_ms DESC
"""

# The start is a reading of the machine's clock on the wall, cut to its second; in an hour that the wall shows twice, it is the first.
_OPEN = """
SELECT trx_mysql_thread_id, trx_is_read_only OR trx_autocommit_non_locking, trx_query,
       LEAST(UNIX_TIMESTAMP(trx_started), IF(FROM_UNIXTIME(UNIX_TIMESTAMP(trx_started) - 3600) = trx_started, UNIX_TIMESTAMP(trx_started) - 3600, UNIX_TIMESTAMP(trx_started))),
       IF(trx_rows_modified > 0, trx_id, NULL), %s FROM information_schema.innodb_trx ORDER BY trx_started
"""
_NO_PRIVILEGE = 1227


@dataclass(frozen=True, slots=True)
class _Session:
    """Somebody at work: since when, and who."""

    number: int
    began: datetime
    who: str


@dataclass(frozen=True, slots=True)
class _Open:
    """The transactions of InnoDB at one moment."""

    writers: tuple[_Session, ...]
    readers: frozenset[int]
    """Connections whose transaction cannot write."""
    changed: frozenset[str]
    """Transactions that have written rows."""
    orphans: bool
    """Whether a transaction has lost its connection."""


_NONE = _Open((), frozenset(), frozenset(), orphans=False)


def take_bound(connection: Connection) -> Bound:
    """Ask on an autocommit connection, after the highest numbers and before any snapshot."""
    (clock, status), host = with_host_clock(lambda: (_moment(connection.row(_CLOCK)[0]), _status(connection)))
    running, is_replica = _running(connection)
    opened, blind = _opened(connection)
    flushed = _status(connection)["Innodb_lsn_flushed"]
    held = [each for each in running if each.number not in opened.readers] + list(opened.writers)
    oldest = min(held, key=lambda each: each.began, default=None)
    server, database, *zones = connection.row(_SERVER)
    return Bound(
        clock=clock,
        oldest=oldest.began if oldest else None,
        holder=oldest.who if oldest else "",
        prepared=_prepared(connection) if opened.orphans else None,
        blind=_blind(connection, is_replica=is_replica) or blind,
        zone=server_zone(*zones),
        identity=SourceIdentity.of(0, flushed, server=str(server), database=str(database)),
        # A start is cut to its second.
        newest=max((each.began for each in held), default=None),
        listed=_moment(connection.row(_CLOCK)[0]),
        host=host,
        replica=is_replica,
        uncommitted=bool(opened.changed) and _last(connection, opened.changed),
        written=status["Innodb_lsn_current"],
        flushed=flushed,
        # Cut to a second as well: rather too late than too early.
        started=clock - timedelta(seconds=status["Uptime"]),
    )


def _running(connection: Connection) -> tuple[list[_Session], bool]:
    """Statements with their start, and whether some thread applies the log of another server."""
    found = connection.rows(_RUNNING)
    applies = any(is_system == "1" for *_, is_system in found)
    return [
        _Session(int(number or 0), _moment(began), f"connection {number}, {user}@{place}")
        for number, user, place, began, is_system in found
        if is_system != "1" and began is not None
    ], applies


def _opened(connection: Connection) -> tuple[_Open, str]:
    """The open transactions, and why they could not be seen."""
    for pause in PATIENCE:
        time.sleep(pause)
        nonce = secrets.token_hex(8)
        try:
            with connection.snapshot():
                found = _transactions(connection, nonce)
        except pymysql.OperationalError as error:
            if error.args[0] != _NO_PRIVILEGE:
                raise
            return _NONE, (
                "the transactions of others cannot be seen: GRANT PROCESS ON *.* to this user, or set a `holdback`"
            )
        if any(number == str(connection.number) and nonce in (query or "") for number, _, query, *_ in found):
            return _of(connection.number, found), ""
    return _NONE, (
        "somebody reads innodb_trx more often than every 100 ms, and the server renews that list for nobody meanwhile; "
        "have it looked at less often, or set a `holdback`"
    )


def _last(connection: Connection, changed: frozenset[str]) -> bool:
    """Whether one of them is still open a moment later: most are short, and what is over has nothing that is not committed."""
    later, blind = _opened(connection)
    return bool(blind) or not changed.isdisjoint(later.changed)


def _transactions(connection: Connection, nonce: str) -> list[tuple[Text, ...]]:
    connection.execute("SET SESSION time_zone = 'SYSTEM'")
    try:
        return connection.rows(_OPEN, (nonce,))
    finally:
        connection.execute("SET SESSION time_zone = %s", (UTC_OFFSET,))


def _of(own: int, found: list[tuple[Text, ...]]) -> _Open:
    found = [each for each in found if int(each[0] or 0) != own]
    others = [(int(number or 0), reads == "1", began) for number, reads, _, began, *_ in found]
    return _Open(
        writers=tuple(
            _Session(
                number,
                datetime.fromtimestamp(float(began or 0), UTC),
                f"connection {number}, whose transaction is open",
            )
            for number, reads, began in others
            if not reads
        ),
        readers=frozenset(number for number, reads, _ in others if reads),
        changed=frozenset(changed for *_, changed, _ in found if changed is not None),
        orphans=any(number == 0 for number, *_ in others),
    )


def _prepared(connection: Connection) -> str | None:
    """A prepared transaction without a client may have been stamped long before the start that it shows after a crash."""
    found = connection.rows("XA RECOVER")
    if not found:
        # The server itself rolls one back, or keeps its statistics.
        return None
    return f"{found[0][3]!r}; end it with XA COMMIT or XA ROLLBACK"


def _blind(connection: Connection, *, is_replica: bool) -> str:
    if is_replica:
        return "a replica is read, and the transactions that are open on its primary cannot be seen there; read the primary, or set a `holdback`"
    if connection.rows(_CLUSTER):
        return "the server is one of a Galera cluster, and the transactions that are open on the others cannot be seen; set a `holdback`"
    return ""


def _status(connection: Connection) -> dict[str, int]:
    return {str(name): int(value or 0) for name, value in connection.rows(_STATUS)}


def _moment(text: Text) -> datetime:
    return datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
