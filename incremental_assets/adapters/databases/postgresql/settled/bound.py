"""PostgreSQL's settled bound: the clock, then sessions with a stamp that they do not show yet, then open transactions, then prepared ones, each in
its own statement.

The proof rests on this order. A transaction that begins after the clock was read has later stamps. One that began before is suspended in the
second statement, open or running in the third, prepared in the fourth, or over; and if it is over, every later snapshot shows its rows.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import psycopg

from incremental_assets.adapters.databases.host_clock import with_host_clock
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.encodings import legible, shown
from incremental_assets.adapters.databases.postgresql.settled.log import FLUSHED, WRITTEN, written
from incremental_assets.adapters.databases.postgresql.settled.open_transactions import Hidden, open_transactions
from incremental_assets.adapters.databases.postgresql.settled.unshown import PATIENCE, unshown
from incremental_assets.core.captures.database.bound import Bound, LocalTime
from incremental_assets.core.captures.database.local_readings import zone_of
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.time_zones import proper_name

_CLOCK = f"SELECT clock_timestamp(), pg_is_in_recovery(), {WRITTEN}"

# In this order: a transaction that is still there in the second was there in the first.
_WITHOUT_START = "SELECT array_agg(pid) FROM pg_stat_activity WHERE xact_start IS NULL AND usesysid IS NOT NULL"
_STILL_THERE = """
SELECT array_agg(DISTINCT virtualtransaction), min(pid) FROM pg_locks
WHERE locktype = 'virtualxid' AND granted AND virtualtransaction = ANY($1::text[]) AND pid = ANY($2::int[])
"""

LOGIN_TRIGGER = f"(SELECT {shown('min(evtname)')} FROM pg_event_trigger WHERE evtevent = 'login' AND evtenabled <> 'D')"

# Each process of a server is started again after a crash of one of them, so that the checkpointer tells since when it runs.
_PREPARED = f"""
SELECT {FLUSHED}, (SELECT max(backend_start) FROM pg_stat_activity WHERE backend_type = 'checkpointer'), {LOGIN_TRIGGER},
       {legible("p.gid")}, {shown("p.owner")}, p.prepared
FROM (VALUES (1)) AS always LEFT JOIN (
    SELECT gid, owner, prepared FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared LIMIT 1
) AS p ON TRUE
"""

_IDENTITY = """
SELECT (pg_control_system()).system_identifier::text, (SELECT datname || ':' || oid FROM pg_database WHERE datname = current_database()),
       (pg_control_checkpoint()).timeline_id,
       (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END - '0/0')::bigint
"""

# reset_val is what our own session began with; a setting of our own role says nothing about the role that writes.
_ZONE = """
WITH ours AS (
    SELECT d.setrole, d.setdatabase, split_part(c, '=', 2) AS zone
    FROM pg_db_role_setting AS d CROSS JOIN unnest(d.setconfig) AS c WHERE lower(split_part(c, '=', 1)) = 'timezone'
)
SELECT (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone'),
       (SELECT zone FROM ours WHERE setrole = 0 AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())) ORDER BY setdatabase DESC LIMIT 1),
       EXISTS (SELECT FROM ours WHERE setrole = (SELECT oid FROM pg_roles WHERE rolname = current_user)),
       current_setting('log_timezone')
"""
_LOCAL = "SELECT m, m AT TIME ZONE $1::text FROM unnest($2::timestamptz[]) AS m"
_A_DAY_AND_MORE = timedelta(hours=26)
_BARE_OFFSET = re.compile(r"([+-])(\d\d:\d\d)")
_FIXED_OFFSET = re.compile(r"<[+-]\d\d>([+-])0?(\d+)")


def take_bound(asked: Asked) -> Bound:
    """Ask on an autocommit connection, after the integer maxima and before any snapshot."""
    (clock, is_replica, *log), host = with_host_clock(lambda: one_row(asked, _CLOCK))
    standing = unshown(asked)
    seen = open_transactions(asked)
    flushed, started, login_trigger, *prepared = one_row(asked, _PREPARED)
    zone = database_zone(asked)
    _, who = min((each for each in (seen.oldest, standing) if each), default=(None, ""))
    return Bound(
        clock=clock.astimezone(UTC),
        oldest=seen.oldest[0] if seen.oldest else None,
        holder=who,
        prepared=_prepared(*prepared) if prepared[0] is not None else None,
        blind=_blind(is_replica, seen.hidden) or _without_start(asked, seen.unstarted),
        zone=zone.name,
        zone_is_guess=zone.is_guess,
        identity=_identity(asked),
        newest=seen.newest,
        listed=seen.listed,
        host=host,
        replica=is_replica,
        unshown=standing[0] if standing else None,
        written=None if is_replica else written(*log),
        flushed=flushed,
        started=started.astimezone(UTC) if started else None,
        login_trigger=login_trigger or "",
        server=asked.terms.server,
    )


def _prepared(gid: str, owner: str, prepared: datetime) -> str:
    return f"{gid!r} of {owner}, prepared at {prepared.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z; end it with COMMIT PREPARED or ROLLBACK PREPARED"


def _blind(is_replica: bool, hidden: Hidden | None) -> str:  # noqa: FBT001 - a row of the database
    if is_replica:
        return "a replica is read, and the transactions that are open on its primary cannot be seen there; read the primary, or set a `holdback`"
    if hidden is None:
        return ""
    if hidden.state == "disabled":
        return f"the session of {hidden.user} (pid {hidden.pid}) hides its transactions by track_activities=off; switch it on, or set a `holdback`"
    return f'the transactions of {hidden.user} cannot be seen by {hidden.me}; GRANT pg_read_all_stats TO "{hidden.me}", or set a `holdback`'


def _without_start(asked: Asked, unstarted: Sequence[str]) -> str:
    """The sessions are read before the locks, so a transaction that began in between shows no start at first, and soon does."""
    pid = None
    for pause in PATIENCE:
        if not unstarted:
            return ""
        time.sleep(pause)
        (pids,) = one_row(asked, _WITHOUT_START)
        unstarted, pid = one_row(asked, _STILL_THERE, (unstarted, pids or []))
    if not unstarted:
        return ""
    return f"the transaction of pid {pid} began before its session was tracked, so its start is not known; end it, or set a `holdback`"


def _identity(asked: Asked) -> SourceIdentity | None:
    try:
        system, database, timeline, position = one_row(asked, _IDENTITY)
    except psycopg.errors.InsufficientPrivilege:
        return None
    return SourceIdentity.of(timeline, position, system=system, database=database)


class DatabaseZone(NamedTuple):
    """What a fresh session of the application would have, as far as it can be known from here."""

    name: str
    is_guess: bool
    """Whether that is the log's, which initdb writes alike: behind a zone of our own nothing shows what the server's own file gives to others."""


def database_zone(asked: Asked) -> DatabaseZone:
    """As this session, or the catalogue, shows it."""
    ours, of_database, is_overridden, of_log = one_row(asked, _ZONE)
    if not (is_overridden or os.environ.get("PGTZ")):
        return DatabaseZone(_named(ours), is_guess=False)
    return DatabaseZone(_named(of_database or of_log), is_guess=not of_database)


def _named(ours: str) -> str:
    # `+05:30` is read as POSIX has it, hours west, and shown as it was set; any other such zone says what it is.
    west = _BARE_OFFSET.fullmatch(ours)
    return f"<{'-' if west[1] == '+' else '+'}{west[2]}>{ours}" if west else known_zone(ours)


def local_times(asked: Asked, specs: Sequence[TableSpec], bound: Bound) -> tuple[LocalTime, ...]:
    """What clocks on the wall show where these tables are stamped, now and as far around it as the turns of a zone may matter."""
    cursors = [spec.read_by for spec in specs if spec.read_by is not None]
    zones = {zone_of(cursor, bound) for cursor in cursors if cursor.is_zoneless}
    moments = [bound.clock - _A_DAY_AND_MORE, bound.reached, bound.clock, bound.clock + _A_DAY_AND_MORE]
    found: list[LocalTime] = []
    for zone in sorted(zones):
        # A zone that this machine knows and the source does not: no session there stamps in it by that name.
        with suppress(psycopg.errors.InvalidParameterValue):
            rows = asked.execute(_LOCAL, (zone, moments)).fetchall()
            found += (LocalTime(zone, moment.astimezone(UTC), wall) for moment, wall in rows)
    return tuple(found)


def known_zone(name: str) -> str:
    """A zone as Python knows it, where it does: PostgreSQL takes names in any case, and writes a fixed offset as `<+03>-03`."""
    offset = _FIXED_OFFSET.fullmatch(name)
    return proper_name(f"Etc/GMT{offset[1]}{offset[2]}" if offset else name) or name
