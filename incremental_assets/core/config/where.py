"""The text of `where` as a condition: a small language, the same for every database. Pure.

Whatever is not a comparison of a column with constants, or several of them joined, is refused where it stands: a comment, a semicolon, a
function, another table. So no text of it reaches a database but constants and the names of columns, which each database quotes itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, NoReturn, cast

from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.row_condition import (
    Among,
    Compared,
    Constant,
    Joined,
    Missing,
    Negated,
    RowCondition,
    compared,
)
from incremental_assets.core.model.table_shape import TableShape

FORM = "compare columns with constants by =, <>, <, <=, >, >=, IN (…), BETWEEN, LIKE and IS NULL, and join that by AND, OR, NOT and parentheses; for anything else make a view"
_LONGEST, _DEEPEST = 4_000, 30
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<word>[^\W\d]\w*)
    | (?P<number>-?\d+(?:\.\d+)?(?![\w.]))
    | '(?P<text>(?:[^']|'')*)'
    | "(?P<double>(?:[^"]|"")+)"
    | `(?P<back>(?:[^`]|``)+)`
    | (?P<sign><=|>=|<>|!=|[=<>(),])
    )""",
    re.VERBOSE,
)
_WORDS = frozenset({"and", "or", "not", "in", "between", "like", "is", "null", "true", "false"})
_SIGNS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_NUMBERS = re.compile(r"tinyint|smallint|int|bigint|float|double|decimal\(\d+,\d+\)")
_AS_TEXT = re.compile(r"(numeric|decimal)\b(?!.*\[)", re.IGNORECASE)
"""Numbers that arrive as texts, as no number of Spark holds them all."""
_TIMES = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse_where(text: str) -> RowCondition:
    """The condition. ValueError says where the text is none, and what may stand there."""
    if len(text) > _LONGEST:
        raise ValueError(f"a condition has at most {_LONGEST:,} characters; make a view")
    reading = _Reading(text, _tokens(text))
    found = reading.either(0)
    reading.end()
    return found


def check_where(shape: TableShape, condition: RowCondition | None) -> None:
    """That each constant is of its column's kind: a database may take one of another for anything. Raises SourceRefused."""
    if condition is None:
        return
    by_name = {column.name: column for column in shape.columns}
    for name, values, are_patterns in compared(condition):
        column = by_name[name]
        for value in values:
            if wanted := _unfit(column, value, is_pattern=are_patterns):
                raise SourceRefused(
                    f"{shape.id}: `where` compares {name!r} ({column.source_type}) with {value}; {wanted}"
                )


def _unfit(column: Column, value: Constant, *, is_pattern: bool) -> str:
    """What to write in place of a constant that is none of the column's kind; empty where it is one."""
    kind = column.spark_type
    if is_pattern:
        return "" if kind == "string" else "LIKE is for texts"
    if _NUMBERS.fullmatch(kind) or (kind == "string" and _AS_TEXT.match(column.source_type)):
        return "" if value.kind == "number" else "write a number, without quotes"
    if kind == "boolean":
        return "" if value.kind == "truth" else "write TRUE or FALSE"
    if kind == "string":
        return "" if value.kind == "text" else "write a text, in single quotes"
    if kind == "date":
        return "" if value.kind == "text" and _is_day(value.text) else "write a day, like '2024-01-31'"
    if kind in _TIMES:
        return "" if value.kind == "text" and _is_moment(value.text) else "write a moment, like '2024-01-31 10:00:00'"
    return "nothing but IS NULL and IS NOT NULL can be asked of it"


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    """Without a zone: of a column that has one, it is in UTC."""
    try:
        return _is_day(text[:10]) and datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def _tokens(text: str) -> list[_Token]:
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _Unread(text, len(text) - len(text[at:].lstrip()))
        kind = match.lastgroup
        inner = match[kind]
        if not inner.isprintable():
            raise ValueError("a condition holds a sign that cannot be printed; write it without")
        at = match.end()
        match kind:
            case "word" if inner.lower() in _WORDS:
                found.append(_Token(inner.lower(), inner, match.start(kind)))
            case "word":
                found.append(_Token("column", inner, match.start(kind)))
            case "double":
                found.append(_Token("column", inner.replace('""', '"'), match.start(kind)))
            case "back":
                found.append(_Token("column", inner.replace("``", "`"), match.start(kind)))
            case "text":
                found.append(_Token("text", inner.replace("''", "'"), match.start(kind)))
            case "number":
                found.append(_Token("number", inner, match.start(kind)))
            case _:
                found.append(_Token(inner, inner, match.start(kind)))
    return found


class _Unread(ValueError):
    def __init__(self, text: str, at: int) -> None:
        rest = text[at : at + 20]
        super().__init__(f"{f'{rest!r} cannot stand there' if rest else 'it ends too early'}; {FORM}")


class _Reading:
    """The tokens from left to right."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text, self._tokens, self._next = text, tokens, 0

    def either(self, depth: int) -> RowCondition:
        if depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} parentheses within each other; make a view")
        parts = [self._both(depth)]
        while self._take("or"):
            parts.append(self._both(depth))
        return parts[0] if len(parts) == 1 else Joined("OR", tuple(parts))

    def end(self) -> None:
        if self._next < len(self._tokens):
            self._refuse()

    def _both(self, depth: int) -> RowCondition:
        parts = [self._one(depth)]
        while self._take("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else Joined("AND", tuple(parts))

    def _one(self, depth: int) -> RowCondition:
        negated = False
        while self._take("not"):
            negated = not negated
        if self._take("("):
            found = self.either(depth + 1)
            self._need(")")
        else:
            found = self._of_column(self._need("column").text)
        return Negated(found) if negated else found

    def _of_column(self, column: str) -> RowCondition:
        if self._take("is"):
            negated = self._take("not")
            self._need("null")
            return Negated(Missing(column)) if negated else Missing(column)
        for sign, meant in _SIGNS.items():
            if self._take(sign):
                return Compared(column, cast(Literal["=", "<>", "<", "<=", ">", ">="], meant), self._constant())
        negated = self._take("not")
        found: RowCondition
        if self._take("in"):
            found = Among(column, self._list())
        elif self._take("like"):
            found = Compared(column, "LIKE", self._pattern())
        elif self._take("between"):
            low = self._constant()
            self._need("and")
            found = Joined("AND", (Compared(column, ">=", low), Compared(column, "<=", self._constant())))
        elif negated:
            self._refuse()
        else:
            # A truth value stands for itself.
            found = Compared(column, "=", Constant("truth", "true"))
        return Negated(found) if negated else found

    def _list(self) -> tuple[Constant, ...]:
        self._need("(")
        values = [self._constant()]
        while self._take(","):
            values.append(self._constant())
        self._need(")")
        return tuple(values)

    def _pattern(self) -> Constant:
        pattern = self._need("text").text
        if "\\" in pattern:
            raise ValueError("databases read a backslash in a pattern of LIKE in several ways; write one without")
        return Constant("text", pattern)

    def _constant(self) -> Constant:
        for kind in ("true", "false"):
            if self._take(kind):
                return Constant("truth", kind)
        token = self._token()
        if token is None or token.kind not in ("number", "text"):
            self._refuse()
        self._next += 1
        return Constant("number" if token.kind == "number" else "text", token.text)

    def _need(self, kind: str) -> _Token:
        token = self._token()
        if token is None or token.kind != kind:
            self._refuse()
        self._next += 1
        return token

    def _take(self, kind: str) -> bool:
        token = self._token()
        if token is None or token.kind != kind:
            return False
        self._next += 1
        return True

    def _token(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _refuse(self) -> NoReturn:
        token = self._token()
        raise _Unread(self._text, token.at if token else len(self._text))
