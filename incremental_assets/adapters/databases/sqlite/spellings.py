"""Rows that are several to SQLite and would be one in a copy: it compares moments as texts, and holds a number and its text side by side in a column of no type.

Of such rows the one whose key comes first lands, a number before a text, and the others are held, whichever came first: no sync sees all rows,
and each decides alike.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.sqlite.sql import chosen, identifier, names
from incremental_assets.adapters.databases.sqlite.types import Stored, number_of, travels_as_text, zone_of
from incremental_assets.core.model.table import TableSpec

SAME_MOMENT = "another row's key is the same moment in another spelling (keep one of the two)"
SAME_NUMBER = (
    "another row's key is the same number in another spelling (keep one of the two, or declare the column's type)"
)

AN_OFFSET = "a key's moment with an offset may be another row's in another spelling (write it in UTC)"

_ONE_DIGIT = 21
"""The length of a moment with one digit of its fraction."""


@dataclass(frozen=True, slots=True)
class Rank:
    """What became of a row's key among its other spellings."""

    column: str
    """The first column of the key in which it is not the other that comes first."""
    why: str
    """Why it cannot land, where it does not."""
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
    numbers: frozenset[int]
    """Those in which a number may stand beside its text: of a declared type infinity alone."""

    @classmethod
    def of(cls, connection: sqlite3.Connection, spec: TableSpec) -> Self | None:
        """None where no two keys can meet: there is no such column in the key, a copy that is replaced whole tells no rows by it, or SQLite does not enforce it, and rows that share one are counted and warned of."""
        if not spec.key_enforced or spec.traits.overwrites:
            return None
        places = tuple(spec.shape.names.index(name) for name in spec.named_key)
        moments = frozenset(place for place in places if spec.columns[place].spark_type == "timestamp_ntz")
        found = {place: spec.columns[place] for place in places}
        numbers = frozenset(place for place, each in found.items() if travels_as_text(each.spark_type, each.fidelity))
        return cls(connection, spec, places, moments, numbers) if moments or numbers else None

    def rank(self, values: Sequence[Any], stored: Sequence[Stored]) -> Rank | None:
        """None where no other row of the table has this key. One with an offset never lands: a moment has as many spellings as there are offsets."""
        if any(values[place] is None for place in self.places):
            return None
        offset = next((place for place in self.places if place in self.moments and has_offset(stored[place])), None)
        if offset is not None:
            return Rank(self.spec.shape.names[offset], AN_OFFSET, lands=False, rows=Condition("0"))
        if not self._forms.may_differ():
            return None
        own = tuple(stored[place] for place in self.places)
        rows = chosen(self.spec, self._rows(values, stored))
        found = self.connection.execute(
            f"SELECT {names(self.spec.named_key)} FROM {identifier(self.spec.id.name)} WHERE {rows.sql}", rows.values
        )
        others = [key for key in found if key != own and self._is_same(key, own)]
        if not others:
            return None
        first = min(others, key=_order)
        parts = zip(self.places, own, first, strict=True)
        place = next(place for place, mine, part in parts if mine != part)
        why = SAME_MOMENT if place in self.moments else SAME_NUMBER
        return Rank(self.spec.shape.names[place], why, _order(own) < _order(first), rows)

    @cached_property
    def _forms(self) -> Forms:
        columns = self.spec.shape.names
        return Forms(
            self.connection,
            self.spec,
            [_form_of_moment(columns[place]) for place in sorted(self.moments)]
            + [_form_of_number(columns[place]) for place in sorted(self.numbers)],
        )

    def _rows(self, values: Sequence[Any], stored: Sequence[Stored]) -> Condition:
        """An index answers it, as one enforces the key."""
        parts: list[str] = []
        found: list[Any] = []
        for place, name in zip(self.places, self.spec.named_key, strict=True):
            alike = self._alike(place, values[place], stored[place])
            parts.append(f"{identifier(name)} IN ({', '.join('?' * len(alike))})")
            found += alike
        return Condition(" AND ".join(parts), tuple(found))

    def _alike(self, place: int, value: Any, stored: Stored) -> tuple[Stored, ...]:
        if place in self.moments:
            return spellings(value)
        return numbers(stored) if place in self.numbers else (stored,)

    def _is_same(self, key: tuple[Stored, ...], own: tuple[Stored, ...]) -> bool:
        """An index finds more where its collation takes texts for equal that it does not enforce."""
        parts = zip(self.places, key, own, strict=True)
        return all(place in self.moments or _is_one(part, mine) for place, part, mine in parts)


class Forms:
    """Whether the moments and numbers of a key may be written in several ways. No two of them can meet where all have one form.

    To look a row up costs as much as to read KEYS keys. Each question reads so many more: a small delta of a large table looks its own rows up and little else,
    and a read of the whole table soon knows, so that either takes at most twice as long as the better of the two would.
    """

    KEYS = 20

    def __init__(self, connection: sqlite3.Connection, spec: TableSpec, forms: Sequence[str]) -> None:
        self._all = connection.execute(f"SELECT {', '.join(forms)} FROM {identifier(spec.id.name)}")
        self._seen: list[set[str]] = [set() for _ in forms]
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
    """All texts that are read as this moment, but for those with an offset."""
    text = moment.isoformat(sep=" ", timespec="microseconds")
    found = [text]
    while text.endswith("0") and len(text) > _ONE_DIGIT:
        text = text[:-1]
        found.append(text)
    if text.endswith(".0"):
        found.append(text.removesuffix(".0"))
    if text.endswith(":00.0"):
        found.append(text.removesuffix(":00.0"))
    both = (*found, *(each.replace(" ", "T") for each in found))
    return (*both, *(f"{each}Z" for each in both))


def numbers(value: Stored) -> tuple[Stored, ...]:
    """A value, and where it is a number or a text that one lands as, all that are this number: SQLite compares them by what they are worth."""
    worth = number_of(value)
    if worth is None:
        return (value,)
    try:
        whole = int(worth)
    except ValueError:
        return (float(worth), worth)
    texts = [worth, *([repr(float(whole))] if float(whole) == whole else [])]
    return (whole, *texts, *(["-0.0"] if whole == 0 else []))


def has_offset(value: Stored) -> bool:
    """Whether a stored moment says its zone by an offset."""
    return zone_of(value) not in ("", "Z")


def _is_one(part: Stored, mine: Stored) -> bool:
    return part == mine or (number_of(mine) is not None and number_of(part) == number_of(mine))


def _order(key: tuple[Stored, ...]) -> list[tuple[bool, Any]]:
    return [(isinstance(part, str), part) for part in key]


def _form_of_moment(name: str) -> str:
    own = identifier(name)
    return f"length({own}) || substr({own}, 11, 1) || ({own} LIKE '%Z')"


def _form_of_number(name: str) -> str:
    """Of numbers one, as no two of them are equal; of texts those of whole numbers, of others, and of the zero that is negative."""
    own = identifier(name)
    texts = f"'text' || (instr({own}, '.') > 0 OR instr({own}, 'e') > 0) || ({own} = '-0.0')"
    return f"CASE WHEN typeof({own}) IN ('integer', 'real') THEN 'number' ELSE {texts} END"
