"""What a source's catalogue says of how a table's rows are stored and shown: facts that a change of the table replaces, though no row is stamped anew.

Of each fact a few letters are kept, so that another one is recognised and no value is stored. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COLUMN = "column "
"""How the name of a fact about one column begins. A column that comes has values of its own to be read, and alters no other."""
_GONE = ""
"""Kept of a column that is gone: should one come back under its name, it is another one."""
_LETTERS = 12
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. Values that come behind those that were there change nothing, as labels that an enum gets."""

    name: str
    values: tuple[str, ...]
    means: str
    """What it means for the rows that it is another one, as part of a sentence."""


Definition = tuple[tuple[str, str], ...]
"""What is kept: a fact's name, and the number and the digest of its values."""


def alterations(kept: Definition, now: Sequence[Fact]) -> tuple[str, ...]:
    """What is said of facts that are no longer those that were kept, each once."""
    known = dict(kept)
    return tuple(dict.fromkeys(fact.means for fact in now if _is_another(fact, known)))


def remembered(kept: Definition | None, now: Sequence[Fact]) -> Definition:
    """What is kept from now on."""
    found = {fact.name: _digest(fact.values) for fact in now}
    gone = {name: _GONE for name, _ in kept or () if name.startswith(COLUMN)}
    return tuple(sorted((gone | found).items()))


def told(means: Sequence[str]) -> str:
    """Some of them as one part of a sentence."""
    more = f" and {len(means) - _NAMED} more" if len(means) > _NAMED else ""
    return "; ".join(means[:_NAMED]) + more


def _is_another(fact: Fact, known: Mapping[str, str]) -> bool:
    was = known.get(fact.name)
    if was is None:
        return not fact.name.startswith(COLUMN)
    if was == _GONE:
        return True
    count = int(was.partition(":")[0])
    return len(fact.values) < count or _digest(fact.values[:count]) != was


def _digest(values: Sequence[str]) -> str:
    return f"{len(values)}:{hashlib.sha256(repr(tuple(values)).encode()).hexdigest()[:_LETTERS]}"
