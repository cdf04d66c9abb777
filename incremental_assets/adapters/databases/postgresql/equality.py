"""By what PostgreSQL takes values of a column for equal that a copy tells apart."""

from __future__ import annotations

import re

_ALIKE = re.compile(
    r'(smallint|integer|bigint|boolean|date|bytea|uuid|oid|xid8?|cid|tid|pg_lsn|name|"char"|text|character( varying)?(\(\d+\))?|money|inet|cidr|macaddr8?|'
    r"time(stamp)?(\(\d\))? (with|without) time zone|numeric\(\d+,-?\d+\)|bit( varying)?(\(\d+\))?|(int[48]|date|ts|tstz)(multi)?range|reg[a-z]+)(\[\])?"
)
"""Types, and arrays of them, whose equal values have one text."""
_EXTENSIONS = ("ltree", "hstore")
"""The same of extensions, whatever their schema is."""


def equality(text: str, kind: str, name: str, collation: str) -> str:
    """Empty where equal values are the same ones. `text`, `kind`, `name`: of the type; `collation`: a nondeterministic one, or empty."""
    if collation:
        return f"the collation {collation}"
    if kind == "e" or name in _EXTENSIONS or _ALIKE.fullmatch(text):
        return ""
    return f"the type {text}"
