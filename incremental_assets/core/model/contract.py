"""What a row must hold to land: rules of the user's own, in a pandera model or written out in the configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum


class OnBreach(StrEnum):
    """What becomes of a row that breaks its contract."""

    QUARANTINE = "quarantine"
    """It is kept in quarantine, the others land, and the copy keeps the last version of it that landed."""
    FAIL = "fail"
    """Nothing lands."""
    WARN = "warn"
    """It lands, and is reported."""


Constant = bool | int | float | Decimal | date | datetime | str
"""What a value is compared with, in the column's own type once that is known."""


def rule(name: str, value: Constant | tuple[Constant, ...]) -> str:
    """One rule as the configuration has it: `ge 1`, `isin [new, paid]`, `nullable false`."""
    if isinstance(value, tuple):
        return f"{name} [{', '.join(_text(each) for each in value)}]"
    return f"{name} {_text(value)}"


def _text(value: Constant) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """The rules of one column. None, or what is the default, is no rule."""

    column: str
    nullable: bool = True
    unique: bool = False
    """Whether values are unique within the rows that one sync reads."""
    matches: str | None = None
    """A regular expression, from the beginning of the text."""
    ge: Constant | None = None
    gt: Constant | None = None
    le: Constant | None = None
    lt: Constant | None = None
    isin: tuple[Constant, ...] | None = None
    notin: tuple[Constant, ...] | None = None
    min_length: int | None = None
    max_length: int | None = None

    @property
    def given(self) -> dict[str, Constant | tuple[Constant, ...]]:
        """The rules that there are, by their names, for people and programs to read."""
        standard = {found.name: found.default for found in fields(self) if found.name != "column"}
        return {name: value for name, usual in standard.items() if (value := getattr(self, name)) != usual}


@dataclass(frozen=True, slots=True)
class Contract:
    """A model (`module:Class`) or rules, and what a row that breaks them comes to."""

    model: str = ""
    rules: tuple[ColumnRules, ...] = ()
    on_breach: OnBreach = OnBreach.QUARANTINE
    max_fraction: float | None = None
    """The share of the rows that one sync reads: if more of them break the contract, a person decides."""
    file: str = ""
    """The configuration; modules are looked for in its folder too."""
    line: int = 0
