"""How SQLite would search a file for the rows of a read; how many there are, it does not estimate."""

from __future__ import annotations

import re
import sqlite3

from incremental_assets.adapters.databases.sqlite.errors import is_of_one_object
from incremental_assets.adapters.databases.sqlite.rows import select
from incremental_assets.adapters.databases.sqlite.snapshot import rows_of
from incremental_assets.adapters.databases.sqlite.sql import chosen
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan

_SEARCH = re.compile(r"SEARCH .* USING (?:COVERING )?(?:INDEX (.+?) \(|(INTEGER PRIMARY KEY|PRIMARY KEY))")


def estimates(connection: sqlite3.Connection, plan: SyncPlan) -> Estimate:
    """The estimate of a plan by EXPLAIN QUERY PLAN; a read that the library refuses says so in its own."""
    condition = chosen(plan.spec, rows_of(plan))
    sql = select(plan.spec, condition)
    try:
        steps = [str(step[3]) for step in connection.execute(f"EXPLAIN QUERY PLAN {sql}", condition.values)]
    except sqlite3.Error as error:
        if not is_of_one_object(error):
            raise
        return Estimate(sql, unknown=f"the source does not explain it ({error})")
    found = [match[1] or match[2] for step in steps if (match := _SEARCH.match(step))]
    return Estimate(
        sql=_filled(connection, sql, condition.values),
        indexes=tuple(dict.fromkeys(found)),
        scans=any(step.startswith("SCAN") for step in steps),
        unknown="SQLite does not estimate rows",
    )


def _filled(connection: sqlite3.Connection, sql: str, values: tuple[str | int, ...]) -> str:
    """The SQL with the values in the places of their `?`, for people: a name may hold one too, in its quotes."""
    quoted = iter(connection.execute("SELECT quote(?)", (value,)).fetchone()[0] for value in values)
    return re.sub(r"`(?:[^`]|``)*`|'(?:[^']|'')*'|\?", lambda found: next(quoted) if found[0] == "?" else found[0], sql)
