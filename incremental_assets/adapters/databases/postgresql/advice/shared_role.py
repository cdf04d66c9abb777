"""Who else comes as the role of the sync, by what way, and which of its settings a sync puts aside."""

from __future__ import annotations

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import one_row
from incremental_assets.adapters.databases.postgresql.pinned import ENDED, MARK, put_aside

# A session that is idle shows the last statement that anybody has sent to it, and one of ours what ours end with.
_OTHERS = f"""
SELECT count(*), min(coalesce(nullif(application_name, ''), 'a client without a name')), min(pid)
FROM pg_stat_activity AS a
WHERE usename = current_user AND datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND query <> '' AND query NOT LIKE '%{ENDED}' AND NOT EXISTS (
    SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.classid = {MARK[0]} AND l.objid = {MARK[1]})
"""

# What such a session begins with, where that is neither what a server has by default nor what a sync has.
_PUT_ASIDE = """
SELECT s.name, s.reset_val FROM pg_settings AS s JOIN unnest($1::text[], $2::text[]) AS o (name, value) ON o.name = s.name
WHERE s.reset_val IS DISTINCT FROM s.boot_val AND s.reset_val IS DISTINCT FROM o.value ORDER BY s.name
"""


def shared_with(asked: Asked) -> str:
    """Other clients that are there at this moment, for people; empty where there is none."""
    count, name, pid = one_row(asked, _OTHERS)
    if not count:
        return ""
    return f"{name} (pid {pid})" + (f" and {count - 1} more" if count > 1 else "")


def settings_put_aside(asked: Asked) -> tuple[str, ...]:
    """`name = value` of each setting of this role's sessions that would change answers."""
    ours = put_aside()
    found = asked.execute(_PUT_ASIDE, (list(ours), list(ours.values()))).fetchall()
    return tuple(f"{name} = {value}" for name, value in found)
