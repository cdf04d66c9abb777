"""Which transactions and statements are open in the sessions of the source: the oldest start, and what cannot be seen of them.

Our own readers are left out: they write nothing, and may hold a snapshot for hours. One is known by the advisory lock that its transaction shares
(`pinned.py`). The lock ends with the transaction, so that a client who is lent the same session later, by a pooler, has inherited nothing. A
session that holds it at some moment of this question is in a transaction of ours at that moment. Whatever else that session has run or will
run is over by then, and shown by every later snapshot; or it begins after the clock was read, and stamps later.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.encodings import shown
from incremental_assets.adapters.databases.postgresql.pinned import MARK, NAME
from incremental_assets.adapters.databases.postgresql.settled.unshown import PATIENCE, holder

# A stamp may be older than the transaction that writes it: a procedure that commits and continues keeps the statement_timestamp() of its CALL,
# and the transactions of one message share its now(), with nothing open between two of them. So a session that runs a statement counts from
# the statement's start. A parallel worker is shown by its leader; a stream of changes runs one statement forever and writes nothing.
# A session of another database cannot write our tables, nor can a walsender without one. An idle session shows an older start than that only
# while it processes notifications and the like; see `unshown.py`.
#
# Of a session of another user nothing is shown without pg_read_all_stats, and of one with track_activities=off only what it waits for: a
# session that waits for its client, with no virtual transaction id, does nothing. A transaction that began while it was off has no start.
_OPEN = f"""
WITH sessions AS MATERIALIZED (
    SELECT pid, leader_pid, usesysid, usename, application_name, datname, xact_start, backend_xid, backend_type, state, wait_event, query, LEAST(
           CASE WHEN (state = 'idle' AND xact_start < state_change AND backend_type IN ('client backend', 'walsender')) IS NOT TRUE THEN xact_start END,
           CASE WHEN state = 'active' AND NOT (backend_type = 'parallel worker' OR backend_type LIKE 'logical replication %'
                OR backend_type = 'walsender' AND query ~* '^\\s*START_REPLICATION') THEN query_start END) AS began
    FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datname IS NULL AND backend_type IS DISTINCT FROM 'walsender')
), held AS MATERIALIZED (
    SELECT pid, locktype, virtualtransaction, classid, objid, objsubid FROM pg_locks WHERE locktype IN ('virtualxid', 'advisory') AND granted
), locks AS (
    SELECT DISTINCT pid, virtualtransaction FROM held WHERE locktype = 'virtualxid'
), readers AS (
    SELECT pid FROM held WHERE locktype = 'advisory' AND classid = {MARK[0]} AND objid = {MARK[1]} AND objsubid = 2
), others AS (
    SELECT * FROM sessions WHERE backend_type IS DISTINCT FROM 'autovacuum worker'
      AND (coalesce(leader_pid, pid) IN (SELECT pid FROM readers) AND usename = current_user AND backend_xid IS NULL) IS NOT TRUE
), oldest AS (
    SELECT began, pid, usename, application_name, usename = current_user AND backend_xid IS NULL
           AND (application_name = '{NAME}' OR query ~* '^\\s*(COMMIT|ROLLBACK)') AS may_be_a_reader
    FROM others WHERE began IS NOT NULL ORDER BY began LIMIT 1
), hidden AS (
    SELECT s.pid, s.usename, s.state FROM sessions AS s LEFT JOIN locks AS l ON l.pid = s.pid
    WHERE s.usesysid IS NOT NULL AND (s.backend_type IS NULL AND (s.datname IS NOT NULL OR l.pid IS NOT NULL)
       OR s.state = 'disabled' AND (s.datname IS NOT NULL AND s.wait_event IS DISTINCT FROM 'ClientRead' OR l.pid IS NOT NULL))
    ORDER BY s.state NULLS FIRST LIMIT 1
), unstarted AS (
    SELECT array_agg(l.virtualtransaction) AS ids FROM sessions AS s JOIN locks AS l ON l.pid = s.pid
    WHERE s.usesysid IS NOT NULL AND s.backend_type IS NOT NULL AND s.xact_start IS NULL AND (s.state IS NULL OR s.state NOT IN ('disabled', 'idle'))
)
SELECT o.began, o.pid, {shown("o.usename")}, o.application_name, o.may_be_a_reader, h.pid, {shown("h.usename")}, h.state, {shown("current_user")}, COALESCE(u.ids, '{{}}'),
       (SELECT max(xact_start) FROM others), clock_timestamp()
FROM unstarted AS u LEFT JOIN oldest AS o ON TRUE LEFT JOIN hidden AS h ON TRUE
"""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A session of which nothing is shown."""

    pid: int
    user: str | None
    state: str | None
    me: str
    """Who asks."""


@dataclass(frozen=True, slots=True)
class Open:
    """What one look at all sessions shows."""

    oldest: tuple[datetime, str] | None
    """The oldest start, and whose it is; None if nothing is open."""
    newest: datetime | None
    listed: datetime
    """The clock just after."""
    hidden: Hidden | None
    unstarted: Sequence[str]
    """Virtual transactions that show no start."""


def open_transactions(asked: Asked) -> Open:
    """Asked after the sessions that stand still, and before the prepared transactions."""
    found = one_row(asked, _OPEN)
    for pause in PATIENCE:
        # A reader gives its lock back some microseconds before its start is no longer shown, and has an old one: who looks just then looks again.
        if not found[4]:
            break
        time.sleep(pause)
        before, found = found, one_row(asked, _OPEN)
        if found[:2] == before[:2]:
            break
    return _open(*found)


def _open(*row: Any) -> Open:
    began, pid, user, application, _, hidden, hidden_user, hidden_state, me, unstarted, newest, listed = row
    return Open(
        oldest=(began.astimezone(UTC), holder(pid, user, application)) if began else None,
        newest=newest.astimezone(UTC) if newest else None,
        listed=listed.astimezone(UTC),
        hidden=Hidden(hidden, hidden_user, hidden_state, me) if hidden is not None else None,
        unstarted=unstarted,
    )
