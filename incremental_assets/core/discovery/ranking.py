"""Cursor candidates by fitness: which columns tell that a row is new or was changed, and how well. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from incremental_assets.core.discovery.traits import ColumnTraits, TableTraits
from incremental_assets.core.model.cursor import CursorType

_OF_CHANGES = re.compile(
    r"updat|modif|chang|mtime|edited|touched|last_?(upd|mod|chg|edit|write|save)|^(upd|mod)_?(at|on|dt|ts|date|time)$",
    re.IGNORECASE,
)
_OF_BIRTHS = re.compile(
    r"creat|insert|added|ctime|recorded|logged|received|occurr|happened|registered|ingest|loaded|event_?(time|at|date|ts)|"
    r"^(ts|time|timestamp|at|when|datetime)$",
    re.IGNORECASE,
)
_MONOTONE = 0.02
"""The share of the rows written last that may have a smaller value than the one before: transactions overlap, and freed space is used again."""


class Tells(IntEnum):
    """What a larger value of the column means."""

    NOTHING = 0
    BIRTHS = 1
    """The row was inserted."""
    CHANGES = 2
    """The row was inserted or updated."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column, what it tells, its points and where they come from."""

    traits: ColumnTraits
    tells: Tells
    points: int
    reasons: tuple[str, ...]

    @property
    def name(self) -> str:
        """The column's name."""
        return self.traits.column.name


def ranked(traits: TableTraits) -> tuple[Candidate, ...]:
    """The fittest first, and whatever shows updates before all that shows inserts alone; columns that tell nothing of inserts and updates, such as a birthday, are left out."""
    found = [_candidate(each) for each in traits.columns]
    return tuple(
        sorted((each for each in found if each.tells), key=lambda each: (-each.tells, -each.points, each.name))
    )


def _candidate(traits: ColumnTraits) -> Candidate:
    tells = _tells(traits)
    judged = [
        (100, "a trigger writes it at each update") if traits.on_update else (0, ""),
        _stamp(traits, tells),
        (20, "indexed") if traits.indexed else (-20, "no index begins with it") if traits.indexed is False else (0, ""),
        _nulls(traits),
        _kind(traits),
        _order(traits, tells),
        _ties(traits),
    ]
    points = sum(each for each, _ in judged)
    return Candidate(traits, tells, points, tuple(reason for _, reason in judged if reason))


def _tells(traits: ColumnTraits) -> Tells:
    if traits.sample is not None and 0 < traits.sample.rows == traits.sample.nulls:
        return Tells.NOTHING
    tells_time = traits.type.is_time or traits.counts_time
    if traits.on_update or (tells_time and _OF_CHANGES.search(traits.column.name)):
        return Tells.CHANGES
    if traits.column.sequence is not None or traits.on_insert:
        return Tells.BIRTHS
    return Tells.BIRTHS if tells_time and _OF_BIRTHS.search(traits.column.name) else Tells.NOTHING


def _stamp(traits: ColumnTraits, tells: Tells) -> tuple[int, str]:
    if traits.column.sequence is not None:
        return 20, f"drawn from the sequence {traits.column.sequence.name}"
    if traits.on_update:
        return 0, ""
    if tells is Tells.CHANGES:
        return -10, "no trigger writes it at an update, so that the application must"
    if traits.on_insert:
        return 15, "the database stamps it at an insert"
    return -10, "the application stamps it"


def _nulls(traits: ColumnTraits) -> tuple[int, str]:
    sample = traits.sample
    if not traits.column.nullable:
        return 10, "never NULL"
    if sample is not None and sample.nulls:
        return -30, f"NULL in {sample.nulls} of the last {sample.rows:,} rows"
    if traits.null_share:
        return -30, f"NULL in {traits.null_share:.1%} of the rows"
    return -5, "may be NULL"


def _kind(traits: ColumnTraits) -> tuple[int, str]:
    match traits.type:
        case CursorType.DATE:
            return -20, "whole days alone"
        case CursorType.DATETIME:
            return -5, "without a time zone"
    return 5, ""


def _order(traits: ColumnTraits, tells: Tells) -> tuple[int, str]:
    """How the rows written last follow each other: of a stamp at inserts, any that goes back came late or was not stamped when it was written."""
    sample = traits.sample
    if sample is None or sample.rows < 2:
        return 0, ""
    if sample.descents <= _MONOTONE * sample.rows:
        return 10, f"ascending in the last {sample.rows:,} rows"
    return (
        -5 if tells is Tells.CHANGES else -20
    ), f"goes back {sample.descents} times in the last {sample.rows:,} rows"


def _ties(traits: ColumnTraits) -> tuple[int, str]:
    sample = traits.sample
    if sample is None or sample.ties * 2 <= sample.rows:
        return 0, ""
    return -5, f"{sample.ties} of the last {sample.rows:,} rows have the value of the one before"
