"""Sessions that may have taken a stamp which no view shows yet: stopped between a message and the publication of its start.

A backend reads a message whole, takes the statement's stamp, and only then reports what it runs. Stopped in between, by a signal, a frozen
container, swap, or a long message that is converted to the server's encoding, it still shows that it is idle. But it no longer waits for its client.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import shown

PATIENCE = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Seconds between two looks at a session that is between two conditions: one that moves has left it by the next."""

# The view copies a session's state first and asks what it waits for later. So one that shows `idle` and waits for its client has no stamp to
# show at that moment: it has none, or it has shown it since, and the question for open transactions, which comes later, sees it.
# What an idle session has not shown, it took after it became idle; so it is in a failed transaction block, which shows no start any more.
# A start from before that is the last message's: a notification, or others' changes of the catalogue, are processed under it, in less than a
# millisecond. A fast-path call shows its state and neither start nor time of its own until its transaction shows one: it began after the last
# statement. Walsenders with a database run SQL as well.
_UNSHOWN = f"""
SELECT CASE state WHEN 'idle' THEN LEAST(state_change, xact_start) WHEN 'fastpath function call' THEN COALESCE(query_start, backend_start)
       ELSE state_change END AS since, pid, {shown("usename")}, application_name,
       backend_start, state_change
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND datname = current_database() AND backend_type IN ('client backend', 'walsender')
  AND (state IN ('idle', 'idle in transaction (aborted)') AND wait_event IS DISTINCT FROM 'ClientRead'
       OR state = 'idle' AND xact_start < state_change OR state = 'fastpath function call' AND xact_start IS NULL)
ORDER BY since
"""


def unshown(asked: Asked) -> tuple[datetime, str] | None:
    """Since when the session that may have the oldest such stamp stands still, and which one it is; None if there is none. Asked after the clock and before the open transactions."""
    still = asked.execute(_UNSHOWN).fetchall()
    for pause in PATIENCE:
        if not still:
            return None
        time.sleep(pause)
        again = asked.execute(_UNSHOWN).fetchall()
        # One that shows anything else has moved since: the questions that follow see what it did.
        still = [each for each in again if each in still]
    if not still:
        return None
    since, pid, user, application, *_ = still[0]
    return since.astimezone(UTC), f"{holder(pid, user, application)}, which stands still"


def holder(pid: int, user: str | None, application: str) -> str:
    """A session, for people."""
    return ", ".join(word for word in (f"pid {pid}", user or "", application) if word)
