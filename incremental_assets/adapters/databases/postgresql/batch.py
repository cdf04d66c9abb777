"""Queries that return one row per table: one alone, or many in few statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from incremental_assets.adapters.databases.postgresql.sql import Parameters

Question = Callable[[Parameters], str]
"""Gives the SELECT of one row; all questions of one call give the same columns."""
Answers = dict[int, tuple[Any, ...]]

_AT_ONCE = 100
"""Questions in one statement: planned in some milliseconds, and each saves a round trip."""
_LIGHT = "30s"
"""How long the tables of one statement may take together."""


def one_row(asked: psycopg.RawCursor[Any], sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The answer to a question that has exactly one."""
    row = asked.execute(sql, values or None).fetchone()
    if row is None:
        raise ValueError("the database answered a question of one row with none")
    return tuple(row)


def answers(asked: psycopg.RawCursor[Any], questions: Mapping[int, Question], *, alone: bool) -> Answers:
    """One row per question. Unless it is asked `alone`, one that fails is left out: its table is then synced, which says what is wrong."""
    if alone or not questions:
        return _ask(asked, questions)
    found: Answers = {}
    with light(asked):
        numbers = list(questions)
        for start in range(0, len(numbers), _AT_ONCE):
            chunk = {number: questions[number] for number in numbers[start : start + _AT_ONCE]}
            try:
                found |= _ask(asked, chunk)
            except Exception as error:  # noqa: BLE001 - a question that cannot even be put is one table's, too
                raise_if_lost(asked, error)
                found |= _one_by_one(asked, chunk)
    return found


def _ask(asked: psycopg.RawCursor[Any], questions: Mapping[int, Question]) -> Answers:
    if not questions:
        return {}
    values = Parameters()
    branches = [f"SELECT {number}, a.* FROM ({question(values)}) AS a" for number, question in questions.items()]
    rows = asked.execute("\nUNION ALL\n".join(branches), values.values or None).fetchall()
    return {number: tuple(answer) for number, *answer in rows}


def _one_by_one(asked: psycopg.RawCursor[Any], questions: Mapping[int, Question]) -> Answers:
    found: Answers = {}
    for number, question in questions.items():
        try:
            found |= _ask(asked, {number: question})
        except Exception as error:  # noqa: BLE001 - its table is then synced, which says what is wrong
            raise_if_lost(asked, error)
    return found


def raise_if_lost(asked: psycopg.RawCursor[Any], error: Exception) -> None:
    """Raise the error again where the connection is gone, as no other question could be answered."""
    if asked.connection.broken or asked.connection.closed:
        raise error


@contextmanager
def light(asked: psycopg.RawCursor[Any]) -> Iterator[None]:
    """A deadline for questions that are not worth waiting for."""
    (before,) = one_row(asked, "SELECT current_setting('statement_timeout')")
    asked.execute("SELECT set_config('statement_timeout', $1, false)", (_LIGHT,))
    try:
        yield
    finally:
        # For whoever has the session next, whatever went wrong; a connection that is lost takes the setting with it.
        with suppress(psycopg.Error):
            asked.execute("SELECT set_config('statement_timeout', $1, false)", (before,))
