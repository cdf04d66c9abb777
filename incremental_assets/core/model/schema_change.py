"""What one landing changed of a copy's columns, or found changed in the source's, as the ledger keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Change(StrEnum):
    """What happened to a column."""

    ADDED = "added"
    """It is new in the copy."""
    REMOVED = "removed"
    """It is gone from the source."""
    EXCLUDED = "excluded"
    """The configuration leaves it out."""
    RETURNED = "returned"
    """It had been gone, or left out, and is read again."""
    RENAMED = "renamed"
    """It has another name in the source, and so in the copy, where rows keep their values."""
    WIDENED = "widened"
    """It took a wider type in place."""
    RETYPED = "retyped"
    """It has another type, in a copy that was written anew."""
    FILLED = "filled"
    """Rows that landed before it came have its values, too."""
    DISCARDED = "discarded"
    """It is new in the source and not read."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One column. Types are the lake's; None where there was, or is, no such column. Of a rename, `before` and `after` are its names."""

    column: str
    change: Change
    before: str | None
    after: str | None
    rule: str
    """What decided so: a setting, as it is written."""

    def __str__(self) -> str:
        types = " -> ".join(dict.fromkeys(each for each in (self.before, self.after) if each))
        return f"{self.column}: {self.change}" + (f" ({types})" if types else "") + f", by {self.rule}"

    def to_json(self) -> dict[str, Any]:
        """A document."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SchemaChange:
        """Read it back."""
        return cls(**{**document, "change": Change(document["change"])})
