"""The condition of a WHERE, with placeholders for its values in the driver's own form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_


@dataclass(frozen=True, slots=True)
class Condition:
    """SQL and the values of its placeholders, in their order."""

    sql: str
    values: tuple[str | int, ...] = ()

    def __and__(self, other: Condition) -> Condition:
        return Condition(f"({self.sql}) AND ({other.sql})", (*self.values, *other.values))

    def __or__(self, other: Condition) -> Condition:
        return Condition(f"({self.sql}) OR ({other.sql})", (*self.values, *other.values))


# In SQLite the words TRUE and FALSE mean the columns of these names, where a table has them.
EVERY = Condition("1 = 1")
NONE = Condition("1 = 0")


def either(conditions: Iterable[Condition]) -> Condition:
    """Rows that fulfil one of them."""
    first, *others = tuple(conditions) or (NONE,)
    return reduce(or_, others, first)
