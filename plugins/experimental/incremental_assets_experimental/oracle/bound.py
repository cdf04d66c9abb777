"""How far the database has settled: the clock, then running calls, then open transactions, each asked on its own.

The order carries the proof. A row that is stamped before the clock was read and is committed after the snapshot was taken was, at the second
question, either still to be written, and its call is running; or written, and its transaction is open at the third question, which comes later.
The answers are interpreted by `bound_of`, a pure function, as they were never run against a real server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from incremental_assets.adapters.databases.host_clock import with_host_clock
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.model.clock_reading import HostClock
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets_experimental.oracle.connect import driver
from incremental_assets_experimental.oracle.errors import hides
from incremental_assets_experimental.rowwise.activity import earliest, moment, who, zone_of
from incremental_assets_experimental.rowwise.row_dialect import UNPLAYED, Row, RowConnection

CLOCK = """
SELECT TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'YYYY-MM-DD"T"HH24:MI:SS.FF6'),
       EXTRACT(TIMEZONE_HOUR FROM SYSTIMESTAMP) * 60 + EXTRACT(TIMEZONE_MINUTE FROM SYSTIMESTAMP) FROM DUAL
"""
ROLE = "SELECT SYS_CONTEXT('USERENV', 'DATABASE_ROLE') FROM DUAL"
INSTANCES = "SELECT COUNT(*) FROM V$ACTIVE_INSTANCES"
# How long a session has been at work, by a counter that moves every few seconds.
CALLS = """
SELECT s.SID, s.LAST_CALL_ET, s.USERNAME, s.PROGRAM FROM V$SESSION s
WHERE s.TYPE = 'USER' AND s.STATUS = 'ACTIVE' AND s.SID <> TO_NUMBER(SYS_CONTEXT('USERENV', 'SID'))
"""
# Those of the space management hold no rows. Without a session it is one of a coordinator that must end it.
TRANSACTIONS = """
SELECT t.XIDUSN || '.' || t.XIDSLOT || '.' || t.XIDSQN, TO_CHAR(t.START_DATE, 'YYYY-MM-DD"T"HH24:MI:SS'), s.SID, s.USERNAME, s.PROGRAM
FROM V$TRANSACTION t LEFT JOIN V$SESSION s ON s.SADDR = t.SES_ADDR WHERE t.SPACE = 'NO'
"""
PENDING = "SELECT LOCAL_TRAN_ID FROM SYS.DBA_2PC_PENDING WHERE STATE = 'prepared'"
IDENTITY = "SELECT DBID, CON_DBID, RESETLOGS_CHANGE#, CURRENT_SCN FROM V$DATABASE"
VIEWS = ("SYS.V_$SESSION", "SYS.V_$TRANSACTION", "SYS.V_$ACTIVE_INSTANCES", "SYS.DBA_2PC_PENDING", "SYS.V_$DATABASE")
"""What a user must be granted to see all of it."""
_COUNTED = timedelta(seconds=4)
"""How far the counter of a call may be behind."""
_WHOLE = timedelta(seconds=1)
"""How much too late the start of a transaction, which has no fraction, may be."""
_Rows = Sequence[Row] | None
"""The rows of a view; None where it is not granted."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The server's answers, in the order of the questions."""

    clock: Row
    role: str
    instances: _Rows = None
    calls: _Rows = None
    transactions: _Rows = None
    pending: _Rows = None
    identity: _Rows = None
    listed: Row | None = None
    host: HostClock | None = None

    @property
    def sees(self) -> bool:
        """Whether all that may hold the watermark was shown."""
        return None not in (self.instances, self.calls, self.transactions, self.pending)


def take_bound(connection: RowConnection) -> Bound:
    """Ask outside of any transaction, after the highest numbers and before any snapshot."""
    return bound_of(asked(connection))


def asked(connection: RowConnection) -> Answers:
    """Each question on its own, the clock first."""
    clock, host = with_host_clock(lambda: _row(connection, CLOCK))
    (role,) = _row(connection, ROLE)
    instances, calls, transactions, pending, identity = (
        _granted(connection, sql) for sql in (INSTANCES, CALLS, TRANSACTIONS, PENDING, IDENTITY)
    )
    listed = _row(connection, CLOCK)
    return Answers(clock, str(role), instances, calls, transactions, pending, identity, listed, host)


def bound_of(answers: Answers) -> Bound:
    """The bound that the answers prove."""
    clock, offset = moment(answers.clock[0]), int(answers.clock[1])
    held = _held(answers, clock, offset)
    began, holder = min(held, default=(None, ""))
    # Whoever has no session is held by nobody here who could be asked for its begin.
    orphans = [number for number, _, session, *_ in answers.transactions or () if session is None]
    orphans += [number for (number,) in answers.pending or ()]
    return Bound(
        clock=clock,
        oldest=began,
        holder=holder,
        prepared=f"{orphans[0]}, of a distributed transaction whose coordinator must end it" if orphans else None,
        blind=blind(answers),
        zone=zone_of(offset),
        identity=_identity(answers.identity),
        newest=max((each for each, _ in held), default=None),
        listed=None if answers.listed is None else moment(answers.listed[0]),
        host=answers.host,
        replica=answers.role != "PRIMARY",
        experimental=f"the dialect oracle is {UNPLAYED}",
    )


def blind(answers: Answers) -> str:
    """Why nothing is proven, with the cure; empty where all was seen."""
    if answers.role != "PRIMARY":
        return "a standby is read, and the transactions that are open on its primary cannot be seen there; read the primary, or set a `holdback`"
    if not answers.sees:
        return "the transactions of others cannot be seen: GRANT SELECT ON SYS.V_$SESSION and SYS.V_$TRANSACTION (`doctor --sql` prints every grant), or set a `holdback`"
    ((instances,),) = answers.instances or ((0,),)
    if int(instances) > 1:
        return f"rows are stamped by the clocks of {instances} instances, of which one is asked; set a `holdback`"
    return ""


def _held(answers: Answers, clock: datetime, offset: int) -> list[tuple[datetime, str]]:
    calls = [
        (clock - timedelta(seconds=int(seconds)) - _COUNTED, who(session, *whose))
        for session, seconds, *whose in answers.calls or ()
    ]
    opened = [
        (earliest(str(began), offset, clock) - _WHOLE, who(session, *whose))
        for _, began, session, *whose in answers.transactions or ()
        if session is not None
    ]
    return [*calls, *opened]


def _identity(rows: _Rows) -> SourceIdentity | None:
    """The pluggable database within its container; each RESETLOGS begins a line of changes."""
    if not rows:
        return None
    container, database, incarnation, change = (int(each) for each in rows[0])
    return SourceIdentity.of(incarnation, change, container=str(container), database=str(database))


def _granted(connection: RowConnection, sql: str) -> _Rows:
    """The answer to a question on a view that this user may not be granted; a role may have brought it, so no list of grants tells."""
    try:
        return list(connection.rows(sql))
    except driver().DatabaseError as error:
        if hides(error):
            return None
        raise


def _row(connection: RowConnection, sql: str) -> Row:
    (found,) = connection.rows(sql)
    return found
