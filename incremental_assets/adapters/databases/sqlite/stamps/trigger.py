"""A trigger of a SQLite file, where it is one that stamps the rows of its own table. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from incremental_assets.adapters.databases.sqlite.stamps.expression import read_expression
from incremental_assets.adapters.databases.stamps.brought import brings
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.steps import KEPT, UNKNOWN, Outcome, bare, spelled
from incremental_assets.adapters.databases.stamps.tokens import NotRead, Token, Words, is_word, tokens

INSERT, UPDATE = "insert", "update"


@dataclass(frozen=True, slots=True)
class Table:
    """The table of a trigger, by which of its columns a row is found, and which may be NULL."""

    name: str
    keys: Collection[str]
    nullable: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Trigger:
    """One of a table's own, as it was made."""

    name: str
    sql: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a trigger leaves in a column of the row that was written, and on what it depends whether it does."""

    outcome: Outcome
    condition: str = ""


NONE = Effect(KEPT)


def effect_of(sql: str, table: Table, column: str, event: str) -> Effect:
    """What a trigger leaves in the column of a row after an `insert` or an `update`."""
    try:
        found = tokens(sql)
    except NotRead:
        return Effect(UNKNOWN)
    try:
        return _effect(Words(found), table, column.lower(), event)
    except NotRead:
        return Effect(UNKNOWN) if _writes(found, table, column) else NONE


def may_bring(sql: str, table: Table, column: str) -> bool:
    """Whether a trigger of another table, or of a view, may give the column of a row of this one a value that is no reading of the clock."""

    def read(value: Sequence[Token]) -> Reading:
        words = Words(value)
        found = read_expression(words)
        words.end()
        return found

    try:
        words = Words(tokens(sql))
        words.until("begin")
        return brings(words.until_end(), table.name, column, read)
    except NotRead:
        return False


def may_set(sql: str, table: Table, column: str) -> bool:
    """Whether a trigger may give the column of some row of the table a value, at whatever event."""
    try:
        words = Words(tokens(sql))
        words.until("begin")
        words.expect("begin")
        while not (words.is_done or words.follows("end")):
            statement = words.until(";")
            words.expect(";")
            if _writes(statement, table, column) and _sets(statement, column):
                return True
    except NotRead:
        return True
    return False


def _sets(statement: tuple[Token, ...], column: str) -> bool:
    """Whether a statement names the column as one that gets a value, or brings whole rows."""
    end = next((place for place, token in enumerate(statement) if is_word(token, "where")), len(statement))
    named = pairwise(statement[:end])
    brings = any(is_word(token, "into") for token in statement)
    return brings or any(one.text.lower() == column.lower() and is_word(sign, "=") for one, sign in named)


def _effect(words: Words, table: Table, column: str, event: str) -> Effect:
    words.expect("create")
    words.accept("temp")
    words.accept("temporary")
    words.expect("trigger")
    words.accept("if", "not", "exists")
    words.name()
    if words.accept("."):
        words.name()
    is_after = words.accept("after")
    words.accept("before")
    if not words.accept(event):
        # Of another event.
        return NONE
    of_columns = words.follows("of")
    words.until("on")
    words.expect("on")
    words.name()
    words.accept("for", "each", "row")
    condition = ""
    if words.accept("when"):
        condition = "" if _holds(words.until("begin"), table, column, event) else "runs on a condition"
    words.expect("begin")
    outcome: Outcome = KEPT
    while not words.accept("end"):
        outcome = _statement(words, table, column, outcome)
    words.accept(";")
    words.end()
    if not isinstance(outcome, Reading):
        return Effect(outcome)
    if not is_after:
        # Before the row is written, the statement finds none, or the one that is written over.
        return Effect(UNKNOWN)
    return Effect(outcome, condition or ("runs only where certain columns are written" if of_columns else ""))


def _statement(words: Words, table: Table, column: str, outcome: Outcome) -> Outcome:
    """What is in the column after one statement. Raises NotRead where that cannot be seen."""
    found = words.until(";")
    words.expect(";")
    if not _writes(found, table, column):
        return outcome
    statement = Words(found)
    statement.expect("update")
    statement.name()
    statement.expect("set")
    while True:
        name = statement.name().lower()
        statement.expect("=")
        if name == column:
            outcome = read_expression(statement)
        else:
            statement.until(",", "where")
        if not statement.accept(","):
            break
    statement.expect("where")
    if not finds_the_row(statement.until_end(), table):
        raise NotRead
    return outcome


def finds_the_row(condition: tuple[Token, ...], table: Table) -> bool:
    """Whether a condition finds the row that was written, by the number or the key that it has now."""
    found = set[str]()
    for part in _plain(condition).replace(f"{table.name.lower()}.", "").split(" and "):
        one, _, other = part.partition(" = ")
        named, new = (one, other) if other.startswith("new.") else (other, one)
        if new != f"new.{named}":
            return False
        found.add(named)
    return found in ({"rowid"}, {"_rowid_"}, {"oid"}) or found == {key.lower() for key in table.keys}


def _holds(condition: tuple[Token, ...], table: Table, column: str, event: str) -> bool:
    """Whether a row that brings no stamp of its own meets the condition: at an update it brings the one that it had, and of two NULLs `=` is not true."""
    text = _plain(condition)
    if event == INSERT:
        return text == f"new.{column} is null"
    pairs = ((f"new.{column}", f"old.{column}"), (f"old.{column}", f"new.{column}"))
    signs = ("is",) if column in {each.lower() for each in table.nullable} else ("is", "=", "==")
    return text in {f"{one} {sign} {other}" for one, other in pairs for sign in signs}


def _writes(found: tuple[Token, ...], table: Table, column: str) -> bool:
    """Whether a statement may give the column a value: it changes rows of the table, or replaces some, and the column is named, or none is."""
    for place, token in enumerate(found):
        if not (is_word(token, "update") or is_word(token, "into")):
            continue
        # `UPDATE OR IGNORE t`, `UPDATE main.t`
        ahead = [each.text.lower() for each in found[place + 1 : place + 6]]
        if table.name.lower() in ahead and (
            is_word(token, "into") or column.lower() in {each.text.lower() for each in found}
        ):
            return True
    return False


def _plain(found: tuple[Token, ...]) -> str:
    return spelled(bare(found)).lower()
