"""Where tables stand, asked of the database in one statement: the twin of `core.checkpoint.fold`, without the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    ScalarSelect,
    Select,
    Subquery,
    and_,
    exists,
    func,
    literal,
    literal_column,
    select,
)

from incremental_assets.core.checkpoint import CLOSING_KINDS, FINISHED_KINDS, TARGET_KINDS
from incremental_assets.core.ports import EventKind, OpenIntent, Position
from incremental_assets.core.state import State
from incremental_assets.core.table import TableId
from incremental_assets.engine.checkpoint_rows import report_from
from incremental_assets.engine.checkpoint_tables import checkpoints, heartbeats, same_table, table_of

Greatest = Callable[..., ColumnElement[int]]
"""The largest of several columns, as the database at hand calls it."""


def one_table(table: TableId) -> Subquery:
    """The name of one table, to be asked about."""
    return select(
        literal(table.source).label("source"),
        literal(table.schema).label("schema_name"),
        literal(table.name).label("table_name"),
    ).subquery("asked")


def every_table() -> Subquery:
    """The names of all tables: whoever recorded an event held a lease."""
    return select(heartbeats.c.source, heartbeats.c.schema_name, heartbeats.c.table_name).subquery("asked")


def standing(asked: Subquery, greatest: Greatest) -> Select[Any]:
    """One row per table asked about that has an event, with what its position is made of.

    Every question is one descent of an index, so its cost does not grow with the history.
    """
    marks = select(
        asked,
        _newest(asked, checkpoints.c.state.is_not(None)).label("state_id"),
        _newest(asked, checkpoints.c.app_id != literal_column("''")).label("app_id_id"),
        greatest(
            _newest_of(asked, greatest, TARGET_KINDS, checkpoints.c.target_table_id.is_not(None)),
            _newest_of(asked, greatest, (EventKind.RESET,)),
        ).label("target_id"),
        _newest_of(asked, greatest, FINISHED_KINDS, checkpoints.c.report.is_not(None)).label("report_id"),
        _newest(asked, checkpoints.c.event == EventKind.INTENT.value).label("intent_id"),
        select(func.max(checkpoints.c.seq))
        .where(same_table(checkpoints.c, asked.c))
        .scalar_subquery()
        .label("last_seq"),
    ).cte("marks")
    state, app, target, report, intent = (
        checkpoints.alias(name) for name in ("state_row", "app_row", "target_row", "report_row", "intent_row")
    )
    rows = marks
    for row, mark in (
        (state, "state_id"),
        (app, "app_id_id"),
        (target, "target_id"),
        (report, "report_id"),
        (intent, "intent_id"),
    ):
        rows = rows.outerjoin(row, row.c.event_id == marks.c[mark])  # type: ignore[assignment]
    staged = _followed(intent, EventKind.STAGED)
    return (
        select(
            marks.c.source,
            marks.c.schema_name,
            marks.c.table_name,
            marks.c.last_seq,
            app.c.app_id,
            state.c.state,
            target.c.target_table_id,
            target.c.target_version,
            report.c.report,
            intent.c.seq.label("open_seq"),
            intent.c.batch_id.label("open_batch_id"),
            staged.label("open_staged"),
            and_(
                intent.c.event_id.is_not(None),
                ~_followed(intent, *CLOSING_KINDS),
                staged | ~_failed(intent),
            ).label("is_open"),
        )
        .select_from(rows)
        .where(exists().where(same_table(checkpoints.c, marks.c)))
    )


def position_of(row: Any) -> Position:
    """The position in a row of `standing`."""
    return Position(
        app_id=row.app_id or "",
        last_seq=-1 if row.last_seq is None else row.last_seq,
        state=State.from_json(row.state) if row.state else None,
        target=(row.target_table_id, row.target_version) if row.target_table_id is not None else None,
        open=OpenIntent(row.open_seq, row.open_batch_id, bool(row.open_staged)) if row.is_open else None,
        last_report=report_from(table_of(row), row.report) if row.report else None,
    )


def _newest(asked: Subquery, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    found = select(func.max(checkpoints.c.event_id)).where(same_table(checkpoints.c, asked.c), *conditions)
    return found.scalar_subquery()


def _newest_of(
    asked: Subquery, greatest: Greatest, kinds: Iterable[EventKind], *conditions: ColumnElement[bool]
) -> ColumnElement[int]:
    # One descent per kind: of `event IN (…)` neither database makes one.
    return greatest(
        *(func.coalesce(_newest(asked, checkpoints.c.event == kind.value, *conditions), 0) for kind in kinds)
    )


def _followed(intent: FromClause, *kinds: EventKind) -> ColumnElement[bool]:
    """Whether an event of these kinds carries the intent's sequence."""
    return exists().where(
        same_table(checkpoints.c, intent.c),
        checkpoints.c.seq == intent.c.seq,
        checkpoints.c.event.in_([kind.value for kind in kinds]),
    )


def _failed(intent: FromClause) -> ColumnElement[bool]:
    """Whether the intent's own run failed after it."""
    return exists().where(
        same_table(checkpoints.c, intent.c),
        checkpoints.c.event == EventKind.FAILED.value,
        checkpoints.c.event_id > intent.c.event_id,
        checkpoints.c.run_id == intent.c.run_id,
    )
