"""The position of each table, as folding its events would give it, without reading them all: one query finds the events that matter, another reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    ScalarSelect,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
)

from incremental_assets.adapters.checkpoints.rows import report_from, target_of
from incremental_assets.adapters.checkpoints.tables import (
    among,
    checkpoints,
    heartbeats,
    is_table,
    named,
    same_table,
    table_of,
)
from incremental_assets.core.captures.documents import state_of
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import (
    CLOSING_KINDS,
    FINISHED_KINDS,
    TARGET_KINDS,
    Checkpoint,
    EventKind,
    OpenIntent,
)

_AT_ONCE = 10_000
"""Ids in one statement; SQLite takes 32,766."""


def position_of(connection: Connection, table: TableId) -> Checkpoint:
    """The position of one table."""
    return dict(_positions(connection, _marks_of_one(), named(table))).get(table, Checkpoint())


def positions_of(connection: Connection, tables: Iterable[TableId]) -> dict[TableId, Checkpoint]:
    """The positions of those of the tables that have an event."""
    asked = select(heartbeats.c.source, heartbeats.c.schema_name, heartbeats.c.table_name)
    return dict(_positions(connection, _marks(asked.where(among(heartbeats.c, tables)).subquery("asked"))))


def all_positions(connection: Connection) -> dict[TableId, Checkpoint]:
    """The position of every table that has an event: every writer of one held a lease, and so left a heartbeat."""
    return dict(_positions(connection, _marks_of_all()))


def ended_at(connection: Connection, table: TableId, run_id: str) -> int | None:
    """The id of the last event of a run that landed or found nothing to do; None if there is none, or if it is only counted any more."""
    c = checkpoints.c
    ended = c.event.in_([EventKind.LANDED.value, EventKind.IDLE.value])
    asked = select(func.max(c.event_id)).where(is_table(c, table), c.run_id == run_id, ended, c.report.is_not(None))
    found: int | None = connection.execute(asked).scalar()
    return found


def position_after(connection: Connection, table: TableId, run_id: str) -> Checkpoint | None:
    """State and target after the last sync of a run that landed or found nothing to do; None if there is none."""
    c, mine = checkpoints.c, is_table(checkpoints.c, table)
    until = ended_at(connection, table, run_id)
    if until is None:
        return None

    def newest(*conditions: ColumnElement[bool]) -> Any:
        asked = select(checkpoints).where(mine, c.event_id <= until, *conditions)
        return connection.execute(asked.order_by(c.event_id.desc()).limit(1)).one_or_none()

    state = newest(c.state.is_not(None))
    target = newest(
        c.event.in_([EventKind.RESET.value, *(kind.value for kind in TARGET_KINDS)]),
        c.target_table_id.is_not(None) | (c.event == EventKind.RESET.value),
    )
    return Checkpoint(
        state=state_of(state.state) if state is not None else None,
        target=target_of(target),
    )


def _positions(
    connection: Connection, query: Select[Any], of: Mapping[str, str] = MappingProxyType({})
) -> Iterator[tuple[TableId, Checkpoint]]:
    marks = connection.execute(query, of).all()
    rows = _rows(connection, {wanted for mark in marks for wanted in _wanted(mark)})
    for mark in marks:
        state, target, report = (rows.get(wanted) for wanted in _wanted(mark))
        table = table_of(mark)
        yield (
            table,
            Checkpoint(
                app_id=mark.app_id or "",
                last_seq=-1 if mark.last_seq is None else mark.last_seq,
                state=state_of(state.state) if state else None,
                target=target_of(target),
                open=OpenIntent(mark.open_seq, mark.open_batch_id, bool(mark.is_staged)) if mark.is_open else None,
                last_report=report_from(table, report.report) if report else None,
            ),
        )


def _wanted(mark: Any) -> tuple[int, int, int]:
    """The events that hold a table's state, its target and its last report; 0 if there is none."""
    # The newest of several kinds is found here: SQLite mistakes its max() of columns for an aggregate when they are nested.
    target = _latest(mark, "reset_id", *(f"{kind}_target_id" for kind in TARGET_KINDS))
    return _latest(mark, "state_id"), target, _latest(mark, *(f"{kind}_report_id" for kind in FINISHED_KINDS))


def _latest(mark: Any, *columns: str) -> int:
    return max(getattr(mark, column) or 0 for column in columns)


def _rows(connection: Connection, ids: Iterable[int]) -> dict[int, Any]:
    c = checkpoints.c
    found: dict[int, Any] = {}
    ordered = sorted(ids)
    for first in range(0, len(ordered), _AT_ONCE):
        some = ordered[first : first + _AT_ONCE]
        query = select(c.event_id, c.state, c.target_table_id, c.target_version, c.target_seq, c.report).where(
            c.event_id.in_(some)
        )
        found.update((row.event_id, row) for row in connection.execute(query))
    return found


@cache
def _marks_of_one() -> Select[Any]:
    """`_marks` of one table, whose name is a parameter."""
    text = (bindparam(name, type_=Text) for name in named(TableId("", "", "")))
    labels = ("source", "schema_name", "table_name")
    asked = select(*(value.label(label) for value, label in zip(text, labels, strict=True)))
    return _marks(asked.subquery("asked"))


@cache
def _marks_of_all() -> Select[Any]:
    """`_marks` of every table that has a heartbeat."""
    return _marks(select(heartbeats.c.source, heartbeats.c.schema_name, heartbeats.c.table_name).subquery("asked"))


def _marks(asked: Subquery) -> Select[Any]:
    """One row per table with an event: the ids of the events that matter, and what became of the last intent.

    Every question is one descent of an index, so its cost does not grow with the history.
    """
    c = checkpoints.c
    of_kind = {
        "intent_id": _newest(asked, EventKind.INTENT),
        "reset_id": _newest(asked, EventKind.RESET),
        **{f"{kind}_target_id": _newest(asked, kind, c.target_table_id.is_not(None)) for kind in TARGET_KINDS},
        **{f"{kind}_report_id": _newest(asked, kind, c.report.is_not(None)) for kind in FINISHED_KINDS},
    }
    marks = select(
        asked,
        _highest(asked, c.event_id, c.state.is_not(None)).label("state_id"),
        _highest(asked, c.event_id, c.app_id != literal_column("''")).label("app_id_id"),
        _highest(asked, c.seq).label("last_seq"),
        *(found.label(name) for name, found in of_kind.items()),
    ).cte("marks")
    intent, app = checkpoints.alias("intent"), checkpoints.alias("app")
    is_staged = _followed(intent, EventKind.STAGED)
    is_open = and_(intent.c.event_id.is_not(None), ~_followed(intent, *CLOSING_KINDS), is_staged | ~_failed(intent))
    return (
        select(
            marks,
            app.c.app_id,
            intent.c.seq.label("open_seq"),
            intent.c.batch_id.label("open_batch_id"),
            is_staged.label("is_staged"),
            is_open.label("is_open"),
        )
        .select_from(
            marks.outerjoin(intent, intent.c.event_id == marks.c.intent_id).outerjoin(
                app, app.c.event_id == marks.c.app_id_id
            )
        )
        .where(exists().where(same_table(c, marks.c)))
    )


def _newest(asked: Subquery, kind: EventKind, *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    # One descent per kind: of `event IN (…)` neither database makes one.
    return _highest(asked, checkpoints.c.event_id, checkpoints.c.event == kind.value, *conditions)


def _highest(asked: Subquery, column: ColumnElement[int], *conditions: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.max(column)).where(same_table(checkpoints.c, asked.c), *conditions).scalar_subquery()


def _followed(intent: FromClause, *kinds: EventKind) -> ColumnElement[bool]:
    """Whether an event of these kinds carries the intent's sequence."""
    return exists().where(
        same_table(checkpoints.c, intent.c),
        checkpoints.c.seq == intent.c.seq,
        checkpoints.c.event_id > intent.c.event_id,
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
