"""Light queries of one column each, for many tables in few statements."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from incremental_assets.adapters.databases.dialect import Unread
from incremental_assets.adapters.databases.per_table import answer_or_none
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.batch import Question, answers
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.snapshot_counts import (
    fingerprint,
    fingerprint_sql,
    highest_sql,
    parse_cursor,
)
from incremental_assets.adapters.databases.postgresql.sql import (
    Parameters,
    cursor_value,
    effective,
    inside,
    orderly,
)
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.doubts import drawn_from
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint
from incremental_assets.core.model.table import TableSpec, cursor_of
from incremental_assets.core.model.window import Window

_DRAWN = """
SELECT s.name, pg_sequence_last_value(q.seqrelid) FROM unnest($1::text[]) AS s (name) JOIN pg_sequence AS q ON q.seqrelid = to_regclass(s.name)
WHERE has_sequence_privilege(q.seqrelid, 'SELECT, USAGE')
"""


def highest(asked: Asked, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
    """The largest cursor of each table."""
    return cursors(asked, specs, {index: _highest(spec) for index, spec in specs.items()}, alone=alone)


def drawn(asked: Asked, specs: Mapping[int, TableSpec]) -> dict[int, int]:
    """The number that the sequence of each table has drawn last, in one statement; none where it has drawn none."""
    found = {index: sequence.name for index, spec in specs.items() if (sequence := drawn_from(spec))}
    last: dict[str, int | None] = dict(asked.execute(_DRAWN, (list(set(found.values())),)).fetchall()) if found else {}
    return {index: number for index, name in found.items() if (number := last.get(name)) is not None}


def lowest(asked: Asked, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
    """The smallest cursor of each table."""
    return cursors(asked, specs, {index: _lowest(spec) for index, spec in specs.items()}, alone=alone)


def fingerprints(
    asked: Asked, wanted: Mapping[int, tuple[TableSpec, Window]], bound: Bound, *, alone: bool
) -> dict[int, Fingerprint]:
    """The fingerprint of the rows of each window."""
    found = answers(asked, {index: _fingerprint(*each) for index, each in wanted.items()}, alone=alone)
    made: dict[int, Fingerprint] = {}
    for index, answer in found.items():
        spec, window = wanted[index]
        mark = answer_or_none(spec, partial(fingerprint, spec, window.lower, answer, bound))
        made |= {index: mark} if mark else {}
    return made


def ages(asked: Asked, unread: Mapping[int, Unread], clock: datetime, *, alone: bool) -> dict[int, float | None]:
    """Seconds since the oldest of the stamps."""
    found = answers(asked, {index: _age(each, clock) for index, each in unread.items()}, alone=alone)
    return {index: None if seconds is None else float(seconds) for index, (seconds,) in found.items()}


def cursors(
    asked: Asked, specs: Mapping[int, TableSpec], questions: Mapping[int, Question], *, alone: bool
) -> dict[int, CursorValue | None]:
    """The answers to questions for a cursor; one that is no value of its type is left out."""
    parsed: dict[int, CursorValue | None] = {}
    for index, (text, *_) in answers(asked, questions, alone=alone).items():
        # In a tuple, as a table without a value is no failure.
        for value in answer_or_none(specs[index], partial(_parsed, specs[index], text)) or ():
            parsed[index] = value
    return parsed


def _parsed(spec: TableSpec, text: str | None) -> tuple[CursorValue | None]:
    return (parse_cursor(spec, text),)


def _highest(spec: TableSpec) -> Question:
    return lambda _: highest_sql(spec)


def _lowest(spec: TableSpec) -> Question:
    return lambda _: f"SELECT CAST(min({orderly(spec)}) AS text) {read_from(spec)}"


def _fingerprint(spec: TableSpec, window: Window) -> Question:
    return lambda values: fingerprint_sql(spec, window, values)


def _age(unread: Unread, clock: datetime) -> Question:
    spec, cursor = unread.spec, cursor_of(unread.spec)

    def question(values: Parameters) -> str:
        stamp = f"min({effective(spec)})"
        if cursor.type is not CursorType.TIMESTAMP:
            stamp = f"(CAST({stamp} AS timestamp) AT TIME ZONE {values(unread.zone, 'text')})"
        above = f"{effective(spec)} > {cursor_value(spec, unread.above, values)}"
        rows = inside(spec, unread.window, values, nulls=False)
        return f"SELECT extract(epoch FROM {values(clock.isoformat(), 'timestamptz')} - {stamp}) {read_from(spec, f'{rows} AND {above}')}"

    return question
