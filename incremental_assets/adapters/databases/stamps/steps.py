"""The steps of a trigger that runs before a row is written, and what they leave in one column of the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.tokens import Kind, NotRead, Token, is_word


class Left:
    """What a trigger leaves in the column, where that is not a reading of the clock."""


@dataclass(frozen=True, slots=True)
class Kept(Left):
    """What the row brought."""


@dataclass(frozen=True, slots=True)
class Dropped(Left):
    """No row is written, or the row stays as it was."""


@dataclass(frozen=True, slots=True)
class Unknown(Left):
    """Something that is not known for the clock."""


Outcome = Reading | Left
KEPT, DROPPED, UNKNOWN = Kept(), Dropped(), Unknown()
_MOST_BRANCHES = 8
"""Of a trigger with more of them nothing is concluded: each doubles the ways through it."""


@dataclass(frozen=True, slots=True)
class Assign:
    """A column of the new row gets a value."""

    column: str
    value: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Choose:
    """The steps of the first condition that holds; the last branch may have none."""

    branches: tuple[tuple[tuple[Token, ...], Steps], ...]


@dataclass(frozen=True, slots=True)
class Finish:
    """The row is written as it is by now, or it is not."""

    writes: bool


Step = Assign | Choose | Finish
Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """How the steps are followed for one column and one event."""

    column: str
    holds: Callable[[tuple[Token, ...]], bool | None]
    """Whether a condition holds whenever it matters; None: it may or may not."""
    reads: Callable[[tuple[Token, ...]], Reading]
    """What an assigned value reads off the clock. Raises NotRead."""


def follow(steps: Steps, way: Way) -> Outcome:
    """What all steps leave in the column, whichever branches are taken."""
    return UNKNOWN if _branches(steps) > _MOST_BRANCHES else _follow(steps, way, KEPT)


def either(one: Outcome, other: Outcome) -> Outcome:
    """What is left by one of two ways, of which one is taken."""
    if DROPPED in (one, other):
        return other if one == DROPPED else one
    if isinstance(one, Reading) and isinstance(other, Reading):
        if (one.is_moment, one.zone) != (other.is_moment, other.zone):
            return UNKNOWN
        return Reading(one.is_moment, one.zone, (*one.cuts, *other.cuts))
    return one if one == other else UNKNOWN


def _follow(steps: Steps, way: Way, found: Outcome) -> Outcome:
    for place, step in enumerate(steps):
        match step:
            case Assign():
                found = _assigned(step, way) if step.column == way.column else found
            case Finish():
                return found if step.writes else DROPPED
            case Choose():
                rest = steps[place + 1 :]
                first, *others = (_follow((*taken, *rest), way, found) for taken in _taken(step, way))
                for other in others:
                    first = either(first, other)
                return first
    return found


def _taken(step: Choose, way: Way) -> list[Steps]:
    """The branches that may be taken, up to the first that is whenever it is come to; that with no steps where none need be."""
    taken: list[Steps] = []
    for condition, steps in step.branches:
        holds = True if not condition else way.holds(condition)
        if holds is not False:
            taken.append(steps)
        if holds:
            return taken
    return [*taken, ()]


def _branches(steps: Steps) -> int:
    choices = [step for step in steps if isinstance(step, Choose)]
    return len(choices) + sum(_branches(taken) for choice in choices for _, taken in choice.branches)


def _assigned(step: Assign, way: Way) -> Outcome:
    try:
        return way.reads(step.value)
    except NotRead:
        return UNKNOWN


def mentions(found: Sequence[Token], record: str, column: str) -> bool:
    """Whether a column of a record is named anywhere, in whatever letters."""
    triples = zip(found, found[1:], found[2:], strict=False)
    return any(
        is_word(first, record) and is_word(dot, ".") and name.text.lower() == column.lower()
        for first, dot, name in triples
    )


def spelled(found: Sequence[Token]) -> str:
    """A condition in one spelling: without spaces around what joins names."""
    text = " ".join(each.text for each in found)
    for sign in (" . ", " ( ", " )", "( "):
        text = text.replace(sign, sign.strip())
    return text


def bare(found: tuple[Token, ...]) -> tuple[Token, ...]:
    """Without parentheses around all of it."""
    while len(found) > 1 and is_word(found[0], "(") and is_word(found[-1], ")") and _encloses(found):
        found = found[1:-1]
    return found


def _encloses(found: Sequence[Token]) -> bool:
    """Whether the parenthesis that the first token opens is closed by the last."""
    depth = 0
    for place, token in enumerate(found):
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind is Kind.SIGN else 0
        if depth == 0:
            return place == len(found) - 1
    return False
