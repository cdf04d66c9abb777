"""Which rows of a table are copied: a condition of `where`, as values. Each database writes it in its own words. Pure.

It is a few comparisons of the row's own columns with constants and nothing else, so that no text of the configuration becomes SQL, and whether
a row fulfils it changes only when the row does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant; `text` is a number's digits, what stands between the quotes of a text, or `true` and `false`."""

    kind: Literal["number", "text", "truth"]
    text: str

    def __str__(self) -> str:
        return _quoted(self.text, "'") if self.kind == "text" else self.text


@dataclass(frozen=True, slots=True)
class Compared:
    """A column beside a constant; of a NULL nothing is known."""

    column: str
    sign: Literal["=", "<>", "<", "<=", ">", ">=", "LIKE"]
    value: Constant

    def __str__(self) -> str:
        return f"{_name(self.column)} {self.sign} {self.value}"


@dataclass(frozen=True, slots=True)
class Among:
    """A column that has one of some constants."""

    column: str
    values: tuple[Constant, ...]

    def __str__(self) -> str:
        return f"{_name(self.column)} IN ({', '.join(map(str, self.values))})"


@dataclass(frozen=True, slots=True)
class Missing:
    """A column that is NULL."""

    column: str

    def __str__(self) -> str:
        return f"{_name(self.column)} IS NULL"


@dataclass(frozen=True, slots=True)
class Negated:
    """What does not hold; of what is not known, that is not known either."""

    of: RowCondition

    def __str__(self) -> str:
        return f"NOT ({self.of})"


@dataclass(frozen=True, slots=True)
class Joined:
    """Conditions that hold all of them, or one of them at least."""

    by: Literal["AND", "OR"]
    parts: tuple[RowCondition, ...]

    def __str__(self) -> str:
        return f" {self.by} ".join(f"({each})" if isinstance(each, Joined) else str(each) for each in self.parts)


RowCondition = Compared | Among | Missing | Negated | Joined


def compared(condition: RowCondition) -> Iterator[tuple[str, tuple[Constant, ...], bool]]:
    """Each column that is named, the constants beside it, and whether they are patterns."""
    match condition:
        case Compared(column, sign, value):
            yield column, (value,), sign == "LIKE"
        case Among(column, values):
            yield column, values, False
        case Missing(column):
            yield column, (), False
        case Negated(inner):
            yield from compared(inner)
        case Joined(_, parts):
            for each in parts:
                yield from compared(each)


def columns_of(condition: RowCondition | None) -> tuple[str, ...]:
    """The columns that it names, each once."""
    return () if condition is None else tuple(dict.fromkeys(column for column, _, _ in compared(condition)))


def with_names(condition: RowCondition, names: Mapping[str, str]) -> RowCondition:
    """The same of columns that have other names."""
    match condition:
        case Negated(inner):
            return Negated(with_names(inner, names))
        case Joined(by, parts):
            return Joined(by, tuple(with_names(each, names) for each in parts))
        case _:
            return replace(condition, column=names.get(condition.column, condition.column))


def _name(column: str) -> str:
    return column if column.isidentifier() else _quoted(column, '"')


def _quoted(text: str, sign: str) -> str:
    doubled = text.replace(sign, sign * 2)
    return f"{sign}{doubled}{sign}"
