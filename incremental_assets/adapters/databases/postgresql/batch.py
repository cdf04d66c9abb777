"""Queries that return one row per table: one alone, or many in few statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.sql import Parameters

Question = Callable[[Parameters], str]
"""Gives the SELECT of one row; all questions of one call give the same columns."""
Answers = dict[int, tuple[Any, ...]]

_AT_ONCE = 100
"""Questions in one statement: planned in some milliseconds, and each saves a round trip."""
_LIGHT = timedelta(seconds=30)
"""How long the tables of one statement may take together."""


def one_row(asked: Asked, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
    """The answer to a question that has exactly one."""
    row = asked.execute(sql, values or None).fetchone()
    if row is None:
        raise ValueError("the database answered a question of one row with none")
    return tuple(row)


def answers(asked: Asked, questions: Mapping[int, Question], *, alone: bool) -> Answers:
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


def _ask(asked: Asked, questions: Mapping[int, Question]) -> Answers:
    if not questions:
        return {}
    values = Parameters()
    branches = [f"SELECT {number}, a.* FROM ({question(values)}) AS a" for number, question in questions.items()]
    rows = asked.execute("\nUNION ALL\n".join(branches), values.values or None).fetchall()
    return {number: tuple(answer) for number, *answer in rows}


def _one_by_one(asked: Asked, questions: Mapping[int, Question]) -> Answers:
    found: Answers = {}
    for number, question in questions.items():
        try:
            found |= _ask(asked, {number: question})
        except Exception as error:  # noqa: BLE001 - its table is then synced, which says what is wrong
            raise_if_lost(asked, error)
    return found


def raise_if_lost(asked: Asked, error: Exception) -> None:
    """Raise the error again where the connection is gone, as no other question could be answered."""
    if asked.connection.broken or asked.connection.closed:
        raise error


@contextmanager
def light(asked: Asked) -> Iterator[None]:
    """A deadline for questions that are not worth waiting for."""
    with asked.within(_LIGHT):
        yield
