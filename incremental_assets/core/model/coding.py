"""How a value stands in a record of a topic, and the type that it has in the copy: JSON has texts and numbers, and one number may be a day, a moment in four units, or a number. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

MILLISECONDS, MICROSECONDS, NANOSECONDS = "milliseconds", "microseconds", "nanoseconds"
DAYS, BASE64, HEX, JSON, SCALED = "days", "base64", "hex", "json", "scaled"
UNITS: Mapping[str, int] = MappingProxyType({MILLISECONDS: 1_000, MICROSECONDS: 1_000_000, NANOSECONDS: 1_000_000_000})
"""Those of times, and how many of each a second has."""
_PLAIN = ("",)
_FORMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("boolean", "tinyint", "smallint", "int", "bigint", "float", "double"), _PLAIN),
        "decimal": ("", BASE64),
        "string": ("", JSON, SCALED, *UNITS),
        "binary": (BASE64, HEX),
        "date": ("", DAYS),
        "timestamp": ("", *UNITS),
        "timestamp_ntz": ("", *UNITS),
    }
)
"""The types, and for each how its values may be written; the empty form is the one that JSON itself has, or the text of ISO 8601."""
_WRITTEN = re.compile(r"([a-z_]+)(\(([1-9]\d?),(\d\d?)\))?(?: as ([a-z0-9]+))?", re.ASCII)
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Coding:
    """A type of the copy, as DDL, and how its values are written in a record."""

    type: str
    form: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """What `columns` of a topic, or the type of a column in the catalogue, says. ValueError has the cure."""
        found = _WRITTEN.fullmatch(text)
        name = found[1] if found else ""
        if found is None or name not in _FORMS:
            raise ValueError(f"write a type like {', '.join(_FORMS)}; a decimal as decimal(12,2)")
        digits = found[2] or ""
        if (name == "decimal") != bool(digits):
            raise ValueError("write digits and scale of a decimal, and of no other type: decimal(12,2)")
        if digits and not int(found[4]) <= int(found[3]) <= _MOST_DIGITS:
            raise ValueError(f"a decimal has {_MOST_DIGITS} digits at most, and no fewer than its scale")
        form = found[5] or ""
        if form not in _FORMS[name]:
            known = [f"`{name}{digits} as {each}`" if each else f"`{name}{digits}`" for each in _FORMS[name]]
            raise ValueError(f"write how its values stand in the record: {', '.join(known)}")
        return cls(f"{name}{digits}", form)

    def __str__(self) -> str:
        return f"{self.type} as {self.form}" if self.form else self.type
