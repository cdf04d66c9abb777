"""How the columns of copies are named. Pure."""

from __future__ import annotations

import re
from enum import StrEnum

_HUMP = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][^\W\d_A-Z])")
"""Between the words of `orderNo` and of `HTTPStatus`."""
_APART = re.compile(r"[\W_]+")


class ColumnNames(StrEnum):
    """How the columns of copies are named."""

    KEEP = "keep"
    """As in the source."""
    SNAKE_CASE = "snake_case"
    """In small letters, digits and `_`."""

    def of(self, name: str) -> str:
        """The copy's name of a column of the source; empty where the name has neither a letter nor a digit."""
        return name if self is ColumnNames.KEEP else snake_case(name)


def snake_case(name: str) -> str:
    """`Order No.`, `orderNo` and `ORDER-NO` are all `order_no`. What a name begins with `_` stays, as in `_id`."""
    ahead = name[: len(name) - len(name.lstrip("_"))]
    words = _APART.sub("_", _HUMP.sub("_", name)).strip("_").lower()
    return ahead + words if words else ""
