"""How far the database has settled: the clock, then running requests, then open transactions, each asked on its own.

The order carries the proof. A row that is stamped before the clock was read and is committed after the snapshot was taken was, at the second
question, either still to be written, and its request is running; or written, and its transaction is open at the third question, which comes later.
The answers are interpreted by `bound_of`, a pure function, as they were never run against a real server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from incremental_assets.adapters.databases.host_clock import with_host_clock
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.clock_reading import HostClock
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets_experimental.rowwise.activity import earliest, moment, who, zone_of
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED, Row, RowConnection

CLOCK = "SELECT CONVERT(varchar(27), SYSUTCDATETIME(), 126), DATEPART(TZOFFSET, SYSDATETIMEOFFSET())"
SERVER = """
SELECT DB_NAME(), CONVERT(nvarchar(60), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')),
       (SELECT snapshot_isolation_state FROM sys.databases WHERE database_id = DB_ID()),
       ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE'), 0)
"""
# Without the permission it silently lists this session alone.
REQUESTS = """
SELECT r.session_id, CONVERT(varchar(23), r.start_time, 126), s.login_name, s.program_name
FROM sys.dm_exec_requests AS r JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id
WHERE r.session_id <> @@SPID AND s.is_user_process = 1
"""
# 1 reads and writes, 4 is distributed; 2 only reads, and 3 is the server's own. In state 5 one is prepared, in 6 it is over.
TRANSACTIONS = """
SELECT t.transaction_id, CONVERT(varchar(23), t.transaction_begin_time, 126), t.transaction_state, x.session_id, s.login_name, s.program_name
FROM sys.dm_tran_active_transactions AS t LEFT JOIN sys.dm_tran_session_transactions AS x ON x.transaction_id = t.transaction_id
LEFT JOIN sys.dm_exec_sessions AS s ON s.session_id = x.session_id
WHERE t.transaction_type IN (1, 4) AND t.transaction_state <> 6 AND (x.session_id IS NULL OR x.session_id <> @@SPID)
"""
IDENTITY = """
SELECT CONVERT(char(36), d.service_broker_guid), CONVERT(char(36), r.database_guid), CONVERT(char(36), r.recovery_fork_guid), l.log_end_lsn
FROM sys.databases AS d LEFT JOIN sys.database_recovery_status AS r ON r.database_id = d.database_id CROSS APPLY sys.dm_db_log_stats(d.database_id) AS l
WHERE d.database_id = DB_ID()
"""
STARTED = "SELECT ms_ticks - sqlserver_start_time_ms_ticks FROM sys.dm_os_sys_info"
_PREPARED = 5


@dataclass(frozen=True, slots=True)
class Answers:
    """The server's answers, in the order of the questions."""

    clock: Row
    server: Row
    requests: Sequence[Row] = ()
    transactions: Sequence[Row] = ()
    identity: Row | None = None
    uptime: Row | None = None
    listed: Row | None = None
    host: HostClock | None = None


def take_bound(connection: RowConnection) -> Bound:
    """Ask outside of any transaction, after the highest numbers and before any snapshot."""
    clock, host = with_host_clock(lambda: _row(connection, CLOCK))
    server = _row(connection, SERVER)
    if not server[3]:
        return bound_of(Answers(clock, server, host=host))
    requests, transactions = list(connection.rows(REQUESTS)), list(connection.rows(TRANSACTIONS))
    listed = _row(connection, CLOCK)
    return bound_of(
        Answers(
            clock, server, requests, transactions, _row(connection, IDENTITY), _row(connection, STARTED), listed, host
        )
    )


def bound_of(answers: Answers) -> Bound:
    """The bound that the answers prove."""
    clock, offset = moment(answers.clock[0]), int(answers.clock[1])
    database, updateability, snapshots, sees = answers.server
    held = [(earliest(began, offset, clock), who(*session)) for session, began in _active(answers)]
    began, holder = min(held, default=(None, ""))
    orphans = [
        number for number, _, state, session, *_ in answers.transactions if state == _PREPARED or session is None
    ]
    return Bound(
        clock=clock,
        oldest=began,
        holder=holder,
        prepared=f"{orphans[0]}, of a distributed transaction whose coordinator must end it" if orphans else None,
        blind=blind(database, updateability, snapshots=snapshots == 1, sees=bool(sees)),
        zone=zone_of(offset),
        identity=_identity(answers.identity),
        newest=max((each for each, _ in held), default=None),
        listed=None if answers.listed is None else moment(answers.listed[0]),
        host=answers.host,
        replica=updateability == "READ_ONLY",
        started=None if answers.uptime is None else clock - timedelta(milliseconds=int(answers.uptime[0])),
        experimental=f"the dialect sqlserver is {UNPLAYED}",
    )


def blind(database: str, updateability: str, *, snapshots: bool, sees: bool) -> str:
    """Why nothing is proven, with the cure; empty where all was seen."""
    quoted = database.replace("]", "]]")
    if updateability == "READ_ONLY":
        return "a replica or a read-only copy is read, and the transactions that are open on its primary cannot be seen there; read the primary, or set a `holdback`"
    if not snapshots:
        return f"the database gives no snapshot, so that rows which move while they are read may be missed: ALTER DATABASE [{quoted}] SET ALLOW_SNAPSHOT_ISOLATION ON"
    if not sees:
        return "the transactions of others cannot be seen: GRANT VIEW SERVER STATE to this user's login, or set a `holdback`"
    return ""


def _active(answers: Answers) -> list[tuple[tuple[object, ...], str]]:
    requests = [((session, *who), began) for session, began, *who in answers.requests]
    # One that is prepared shows the start of the server after a crash; it holds the watermark by itself.
    opened = [
        ((session, *who), began)
        for _, began, state, session, *who in answers.transactions
        if state != _PREPARED and session is not None
    ]
    return [*requests, *opened]


def _identity(row: Row | None) -> SourceIdentity | None:
    if row is None or row[3] is None:
        return None
    broker, database, fork, position = row
    # `00000021:000000e8:0001`: file of the log, block, record.
    parts = [int(part, 16) for part in str(position).split(":")]
    timeline = int(str(fork).replace("-", "")[:15], 16) if fork else 0
    return SourceIdentity.of(
        timeline, (parts[0] << 48) + (parts[1] << 16) + parts[2], broker=str(broker), database=str(database or broker)
    )


def _row(connection: RowConnection, sql: str) -> Row:
    (found,) = connection.rows(sql)
    return found
