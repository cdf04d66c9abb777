"""Rows that open transactions have changed: those that a dirty read shows and a committed one does not.

The start of a transaction says nothing of its stamps: a statement that waited for a metadata lock, or computed for long before its first
row, had its stamp before InnoDB knew of it. Once that statement is over, only its rows tell. All rows of the table are looked at, also where the
configuration chooses some: what has not been committed may still become one of them.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from incremental_assets.adapters.databases.mysql.connect import Connection, Text
from incremental_assets.adapters.databases.mysql.rows_of import checked, checked_sum, summed_hashes
from incremental_assets.adapters.databases.mysql.sql import effective, inside, relation
from incremental_assets.adapters.databases.mysql.window_queries import printed_hash, value_of
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.window import Window

_Groups = dict[str, list[Text]]


def lowest_uncommitted(connection: Connection, spec: TableSpec, window: Window) -> CursorValue | None:
    """The smallest stamp of a window that somebody has written and not committed; None if there is none.

    The committed rows are read first: a row that is committed in between then counts as uncommitted, which costs little, and never the other way round.
    """
    with connection.snapshot():
        committed = _groups(connection, spec, window)
    with connection.dirty_reads():
        written = _groups(connection, spec, window)
    for hour in sorted(hour for hour, rows in written.items() if committed.get(hour) != rows):
        found = _lowest(connection, spec, _within(spec, window, hour))
        if found is not None:
            return found
    return None


def _groups(connection: Connection, spec: TableSpec, window: Window) -> _Groups:
    """How many rows each hour has, or each day where the cursor is a date, and a digest of what they hold."""
    rows = inside(spec, window, nulls=False)
    sql = (
        f"SELECT LEFT(CAST({effective(spec)} AS CHAR), {_width(spec)}) AS hour, COUNT(*), {summed_hashes(printed_hash(spec.source_columns))} "
        f"FROM {relation(spec.id)} WHERE {rows.sql} GROUP BY hour"
    )
    found = connection.rows(sql, rows.values)
    return {str(hour): [count, checked_sum(connection, spec, str(total))] for hour, count, total in found}


def _lowest(connection: Connection, spec: TableSpec, window: Window) -> CursorValue | None:
    with connection.snapshot():
        committed = _rows(connection, spec, window)
    with connection.dirty_reads():
        written = _rows(connection, spec, window)
    stamps = [value for text, _ in written - committed if (value := value_of(spec, text)) is not None]
    return min(stamps, default=None)


def _rows(connection: Connection, spec: TableSpec, window: Window) -> Counter[tuple[Text, ...]]:
    rows = inside(spec, window, nulls=False)
    sql = f"SELECT {effective(spec)}, {printed_hash(spec.source_columns)} FROM {relation(spec.id)} WHERE {rows.sql}"
    found = connection.rows(sql, rows.values)
    digests = checked(connection, spec, (digest for _, digest in found))
    return Counter((at, digest) for (at, _), digest in zip(found, digests, strict=True))


def _within(spec: TableSpec, window: Window, hour: str) -> Window:
    kind = cursor_of(spec).type
    is_date = kind is CursorType.DATE
    lower = value_of(spec, hour if is_date else f"{hour}:00:00")
    if lower is None:
        return window
    upper = lower.minus(-(timedelta(days=1) if is_date else timedelta(hours=1)))
    return Window(max(lower, window.lower or lower), upper).clamp_upper(window.upper)


def _width(spec: TableSpec) -> int:
    """The length of `2024-01-31`, or of `2024-01-31 10`."""
    return 10 if cursor_of(spec).type is CursorType.DATE else 13
