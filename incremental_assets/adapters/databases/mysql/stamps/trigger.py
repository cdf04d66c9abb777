"""A trigger of MariaDB or MySQL, as its steps: the few statements of which such triggers consist that stamp a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache, partial

from incremental_assets.adapters.databases.mysql.stamps.expression import read_expression
from incremental_assets.adapters.databases.stamps.brought import brings, in_that_zone
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.steps import (
    KEPT,
    UNKNOWN,
    Assign,
    Choose,
    Outcome,
    Step,
    Steps,
    Way,
    bare,
    follow,
    mentions,
    spelled,
)
from incremental_assets.adapters.databases.stamps.tokens import NotRead, Token, Words, tokens

INSERT, UPDATE = "INSERT", "UPDATE"
_TWICE_MINUS = re.compile(r"--(?=\S)")
"""No comment here, as it is elsewhere."""


@lru_cache(maxsize=1024)
def outcome_of(source: str, column: str, event: str, nullable: bool = False) -> Outcome:  # noqa: FBT001, FBT002 - a key of the cache
    """What a trigger leaves in a column, which may be NULL, at an `INSERT` or an `UPDATE`. Names of columns are told apart without their case."""
    if _TWICE_MINUS.search(source):
        return UNKNOWN
    try:
        found = tokens(source)
    except NotRead:
        return UNKNOWN
    try:
        steps = _body(Words(found))
    except NotRead:
        return UNKNOWN if mentions(found, "new", column) else KEPT
    return follow(
        steps,
        Way(
            column.lower(),
            partial(_holds, column=column.lower(), event=event, nullable=nullable),
            partial(_read, column=column, event=event),
        ),
    )


@lru_cache(maxsize=1024)
def _read_once(source: str) -> tuple[Token, ...]:
    try:
        return tokens(source)
    except NotRead:
        # Nothing is concluded from what is not read.
        return ()


def may_bring(source: str, table: str, column: str, zone: str) -> bool:
    """Whether a trigger of another table may give the column of a row of this one a value that is no reading of the clock in that zone."""

    def read(value: Sequence[Token]) -> Reading:
        words = Words(value)
        found = read_expression(words)
        words.end()
        return in_that_zone(found, zone)

    found = _read_once(source)
    return any(each.text.lower() == table.lower() for each in found) and brings(found, table, column, read)


def _holds(condition: tuple[Token, ...], *, column: str, event: str, nullable: bool) -> bool | None:
    """Whether a row that brings no stamp of its own meets the condition: at an update it brings the one that it had, and of two NULLs `=` is not true."""
    text = spelled(bare(condition)).lower().replace("`", "")
    if event == INSERT and text == f"new.{column} is null":
        return True
    signs = ("<=>",) if nullable else ("<=>", "=")
    pairs = ((f"new.{column}", f"old.{column}"), (f"old.{column}", f"new.{column}"))
    if event == UPDATE and text in {f"{one} {sign} {other}" for one, other in pairs for sign in signs}:
        return True
    return None


def _read(value: tuple[Token, ...], *, column: str, event: str) -> Reading:
    words = Words(value)
    brings = event == INSERT and (
        words.accept("coalesce", "(", "new", ".", column.lower(), ",")
        or words.accept("ifnull", "(", "new", ".", column.lower(), ",")
    )
    found = read_expression(words)
    if brings:
        words.expect(")")
    words.end()
    return found


def _body(words: Words) -> Steps:
    if not words.accept("begin"):
        steps = _step(words, is_last=True)
        words.end()
        return steps
    found = _steps(words, "end")
    words.expect("end")
    words.accept(";")
    words.end()
    return found


def _steps(words: Words, *ends: str) -> Steps:
    steps: list[Step] = []
    while not any(words.follows(end) for end in ends):
        steps += _step(words)
    return tuple(steps)


def _step(words: Words, *, is_last: bool = False) -> Steps:
    if words.accept("if"):
        found: Steps = (_choice(words),)
    else:
        words.expect("set")
        found = (_assignment(words),)
        while words.accept(","):
            found = (*found, _assignment(words))
    if not (is_last and words.is_done):
        words.expect(";")
    return found


def _choice(words: Words) -> Choose:
    branches: list[tuple[tuple[Token, ...], Steps]] = []
    while True:
        condition = words.until("then")
        words.expect("then")
        branches.append((condition, _steps(words, "elseif", "else", "end")))
        if not words.accept("elseif"):
            break
    if words.accept("else"):
        branches.append(((), _steps(words, "end")))
    words.expect("end", "if")
    return Choose(tuple(branches))


def _assignment(words: Words) -> Assign:
    words.expect("new", ".")
    column = words.name().lower()
    if not (words.accept("=") or words.accept(":=")):
        raise NotRead
    return Assign(column, words.until_end(";", ","))
