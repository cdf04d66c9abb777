"""Rows that are several to SQLite and would be one in a copy: it compares moments as texts, so that a key may hold one of them in several spellings.

Of such rows the one whose key comes first as a text lands, and the others are held, whichever came first: no sync sees all rows, and each decides alike.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.sqlite.sql import identifier, names
from incremental_assets.adapters.databases.sqlite.types import Stored
from incremental_assets.core.model.table import TableSpec

SAME_MOMENT = "another row's key is the same moment in another spelling (keep one of the two)"

_ONE_DIGIT = 21
"""The length of a moment with one digit of its fraction."""


@dataclass(frozen=True, slots=True)
class Rank:
    """What became of a row's key among its other spellings."""

    column: str
    """The first column of the key in which it is not the other that comes first."""
    lands: bool
    """Whether it is the one that lands."""
    rows: Condition
    """How to find all of these rows."""


@dataclass(frozen=True)
class Spellings:
    """Looks a row's key up in its other spellings, while a statement that reads the table holds its transaction."""

    connection: sqlite3.Connection
    spec: TableSpec
    places: tuple[int, ...]
    """Where the columns of the key stand in a row."""
    moments: frozenset[int]
    """Those that are moments."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, spec: TableSpec) -> Self | None:
        """None where no two keys can meet: there is no moment in the key, a copy that is replaced whole tells no rows by it, or SQLite does not enforce it, and rows that share one are counted and warned of."""
        if not spec.key_enforced or spec.traits.overwrites:
            return None
        places = tuple(spec.shape.names.index(name) for name in spec.key)
        moments = frozenset(place for place in places if spec.columns[place].spark_type == "timestamp_ntz")
        return cls(connection, spec, places, moments) if moments else None

    def rank(self, values: Sequence[Any], stored: Sequence[Stored]) -> Rank | None:
        """None where no other row of the table has this key."""
        if any(values[place] is None for place in self.places) or not self._forms.may_differ():
            return None
        own = tuple(stored[place] for place in self.places)
        rows = self._rows(values, stored)
        found = self.connection.execute(
            f"SELECT {names(self.spec.key)} FROM {identifier(self.spec.id.name)} WHERE {rows.sql}", rows.values
        )
        others = [key for key in found if key != own and self._same_but_for_moments(key, own)]
        if not others:
            return None
        # They differ in moments alone, which are texts.
        first = min(others)
        column = next(name for name, mine, part in zip(self.spec.key, own, first, strict=True) if mine != part)
        return Rank(column, own < first, rows)

    @cached_property
    def _forms(self) -> Forms:
        return Forms(self.connection, self.spec, [self.spec.shape.names[place] for place in sorted(self.moments)])

    def _rows(self, values: Sequence[Any], stored: Sequence[Stored]) -> Condition:
        """An index answers it, as one enforces the key."""
        parts: list[str] = []
        found: list[Any] = []
        for place, name in zip(self.places, self.spec.key, strict=True):
            texts = spellings(values[place]) if place in self.moments else (stored[place],)
            parts.append(f"{identifier(name)} IN ({', '.join('?' * len(texts))})")
            found += texts
        return Condition(" AND ".join(parts), tuple(found))

    def _same_but_for_moments(self, key: tuple[Stored, ...], own: tuple[Stored, ...]) -> bool:
        """An index finds more where its collation takes texts for equal that the copy tells apart."""
        parts = zip(self.places, key, own, strict=True)
        return all(place in self.moments or part == mine for place, part, mine in parts)


class Forms:
    """Whether the moments of a column may be written in several ways. No two of them can meet where all have one separator and one length.

    To look a row up costs as much as to read KEYS keys. Each question reads so many more: a small delta of a large table looks its own rows up and little else,
    and a read of the whole table soon knows, so that either takes at most twice as long as the better of the two would.
    """

    KEYS = 20

    def __init__(self, connection: sqlite3.Connection, spec: TableSpec, columns: Sequence[str]) -> None:
        forms = (f"length({each}) || substr({each}, 11, 1)" for each in map(identifier, columns))
        self._all = connection.execute(f"SELECT {', '.join(forms)} FROM {identifier(spec.id.name)}")
        self._seen: list[set[str]] = [set() for _ in columns]
        self._differ: bool | None = None
        """None while not all keys have been read."""

    def may_differ(self) -> bool:
        """Not once all keys have been read, and have one form."""
        if self._differ is None:
            self._read_on()
        return self._differ is not False

    def _read_on(self) -> None:
        keys = self._all.fetchmany(self.KEYS)
        for key in keys:
            for seen, form in zip(self._seen, key, strict=True):
                if form is not None:
                    seen.add(form)
        if any(len(seen) > 1 for seen in self._seen):
            self._differ = True
            self._all.close()
        elif len(keys) < self.KEYS:
            self._differ = False


def spellings(moment: datetime) -> tuple[str, ...]:
    """All texts that are read as this moment."""
    text = moment.isoformat(sep=" ", timespec="microseconds")
    found = [text]
    while text.endswith("0") and len(text) > _ONE_DIGIT:
        text = text[:-1]
        found.append(text)
    if text.endswith(".0"):
        found.append(text.removesuffix(".0"))
    if text.endswith(":00.0"):
        found.append(text.removesuffix(":00.0"))
    return (*found, *(each.replace(" ", "T") for each in found))
