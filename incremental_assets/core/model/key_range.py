"""A range of a table's key, in the order of its source."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[str, ...]
"""A key's values as the source prints them."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The rows whose key lies behind `after` and not behind `upto`; None is no end on that side."""

    after: Place | None = None
    upto: Place | None = None
