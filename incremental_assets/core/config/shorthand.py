"""The shorthand of a table, as in LakeXpress: `schema.table:column:type[:direction][@start][!strategy]`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.identifiers import scan_name, scan_table
from incremental_assets.core.strategies import Strategy, traits_of
from incremental_assets.core.words import with_article

FORM = "schema.table:column:type[:direction][@start][!strategy]"

STRATEGIES = tuple(each for each in Strategy if not traits_of(each).overwrites)
"""What may stand after the `!`: those that read by a cursor."""


class Direction(StrEnum):
    """Whether the table is synced by its cursor, or as if it were not listed."""

    INCLUDE = "i"
    EXCLUDE = "e"


@dataclass(frozen=True, slots=True)
class Shorthand:
    """One table in one line."""

    schema: str
    name: str
    column: str
    type: CursorType
    direction: Direction = Direction.INCLUDE
    start: CursorValue | None = None
    strategy: Strategy = Strategy.APPEND

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"a shorthand is {' or '.join(f'`{each}`' for each in STRATEGIES)}; for a table read whole write `table:` and `strategy: full_refresh`, or leave it out"
            )
        if self.start is not None and (self.start.type is not self.type or not self.start.is_finite):
            raise ValueError(f"{with_article(self.type)} cursor starts at a finite {self.type}")


def parse(text: str) -> Shorthand:
    """Read one shorthand; ValueError names every part that is wrong and what to write there."""
    schema, name, end = scan_table(text)
    if text[end : end + 1] != ":":
        raise ValueError(f"the cursor column is missing; write {FORM}")
    column = scan_name(text, end + 1)
    if text[column.end : column.end + 1] != ":":
        raise ValueError(f"the type of the cursor is missing; write {FORM}")
    rest, has_strategy, wanted = text[column.end + 1 :].partition("!")
    rest, has_start, since = rest.partition("@")
    kind, has_direction, way = rest.partition(":")
    slips: list[str] = []
    kind = _choice("type", kind, [*CursorType], slips)
    direction = _choice("direction", way if has_direction else Direction.INCLUDE, [*Direction], slips)
    start = _start(CursorType(kind), since, slips) if kind and has_start else None
    strategy = _choice("strategy", wanted if has_strategy else Strategy.APPEND, [*STRATEGIES], slips)
    if slips:
        raise ValueError(f"{'; '.join(slips)}; write {FORM}")
    return Shorthand(schema, name, column.name, CursorType(kind), Direction(direction), start, Strategy(strategy))


def _choice(part: str, text: str, choices: list[str], slips: list[str]) -> str:
    """One of the choices, or nothing and a slip more."""
    text = text.strip()
    if text in choices:
        return text
    if part == "strategy" and text in [*Strategy]:
        return text  # refused by the value itself, which knows why
    near = difflib.get_close_matches(text, choices, n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    slips.append(f"{hint}the {part} is one of {', '.join(choices)}")
    return ""


def _start(kind: CursorType, text: str, slips: list[str]) -> CursorValue | None:
    try:
        value = CursorValue.parse(kind, text)
    except ValueError as error:
        slips.append(str(error))
        return None
    if value.is_finite:
        return value
    slips.append(f"{with_article(kind)} cursor starts at a finite value; leave @{text} out to begin with the first row")
    return None
