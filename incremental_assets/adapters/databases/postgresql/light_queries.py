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

# One that has drawn nothing yet has no last number. Where it begins its own relation alone says, as `setval(…, false)` and RESTART write it there.
_DRAWN = """
SELECT f.name, pg_sequence_last_value(q.seqrelid), q.seqstart - q.seqincrement, q.seqincrement,
       has_table_privilege(q.seqrelid, 'SELECT') AND has_schema_privilege(c.relnamespace, 'USAGE') AND c.relpersistence = 'p'
FROM pg_sequence AS q JOIN pg_class AS c ON c.oid = q.seqrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
CROSS JOIN LATERAL format('%I.%I', n.nspname, c.relname) AS f (name)
WHERE f.name = ANY ($1::text[]) AND has_sequence_privilege(q.seqrelid, 'SELECT, USAGE')
"""
_BEGUN = "SELECT {place}, s.last_value, s.is_called FROM {sequence} AS s"


def highest(asked: Asked, specs: Mapping[int, TableSpec], *, alone: bool) -> dict[int, CursorValue | None]:
    """The largest cursor of each table."""
    return cursors(asked, specs, {index: _highest(spec) for index, spec in specs.items()}, alone=alone)


def drawn(asked: Asked, specs: Mapping[int, TableSpec]) -> dict[int, int]:
    """The number that the sequence of each table has drawn last, or comes before the first that it draws; one statement, and one more for those that have drawn none."""
    found = {index: sequence.name for index, spec in specs.items() if (sequence := drawn_from(spec))}
    rows = asked.execute(_DRAWN, (sorted(set(found.values())),)).fetchall() if found else []
    last = {name: before if number is None else number for name, number, before, _, _ in rows}
    steps = {name: step for name, number, _, step, is_shown in rows if number is None and is_shown}
    last |= _before_first(asked, steps) if steps else {}
    return {index: last[name] for index, name in found.items() if name in last}


def _before_first(asked: Asked, steps: Mapping[str, int]) -> dict[str, int]:
    names = list(steps)
    # As `format('%I.%I')` has quoted them.
    begun = " UNION ALL ".join(_BEGUN.format(place=place, sequence=name) for place, name in enumerate(names))
    rows = asked.execute(begun).fetchall()
    return {names[place]: last if is_called else last - steps[names[place]] for place, last, is_called in rows}


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
