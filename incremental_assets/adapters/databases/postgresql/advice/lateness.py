"""How long after their stamp rows were committed, where PostgreSQL keeps the times of commits (`track_commit_timestamp`)."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import light, one_row, raise_if_lost
from incremental_assets.adapters.databases.postgresql.fragments import last_rows
from incremental_assets.adapters.databases.postgresql.settled.bound import database_zone
from incremental_assets.adapters.databases.postgresql.sql import effective, literal
from incremental_assets.core.checks.lateness import Lateness
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import TableSpec, cursor_of


def lateness(asked: Asked, specs: Sequence[TableSpec]) -> tuple[Lateness | None, ...]:
    """One per table; None of those that are stamped in whole days or by numbers, that lie in no blocks of their own, or that nobody has written since commits are kept."""
    (kept,) = one_row(asked, "SELECT current_setting('track_commit_timestamp')::boolean")
    if not kept:
        return tuple(None for _ in specs)
    zone = database_zone(asked).name
    with light(asked):
        return tuple(_of_table(asked, spec, zone) for spec in specs)


def _of_table(asked: Asked, spec: TableSpec, zone: str) -> Lateness | None:
    cursor = spec.cursor
    fits = cursor is not None and cursor.type in (CursorType.TIMESTAMP, CursorType.DATETIME)
    if not fits or spec.read_by is None or not spec.shape.splits or not spec.shape.pages:
        return None
    try:
        rows, *seconds = one_row(asked, _sql(spec, cursor_of(spec).zone or zone))
    except psycopg.Error as error:
        raise_if_lost(asked, error)
        return None
    return Lateness(rows, *map(float, seconds)) if rows else None


def _sql(spec: TableSpec, zone: str) -> str:
    stamp = effective(spec)
    if cursor_of(spec).type is CursorType.DATETIME:
        stamp = f"({stamp} AT TIME ZONE {literal(zone)})"
    late = f"extract(epoch FROM pg_xact_commit_timestamp(t.xmin) - {stamp})"
    rows = last_rows(spec.id, spec.shape.pages, f"{late} AS late", f"isfinite({stamp})")
    return (
        "SELECT count(late), percentile_disc(0.5) WITHIN GROUP (ORDER BY late), percentile_disc(0.99) WITHIN GROUP (ORDER BY late), max(late) "
        f"FROM ({rows}) AS r WHERE late IS NOT NULL"
    )
