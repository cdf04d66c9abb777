"""What an expression of MariaDB or MySQL reads off the server's clock: as `information_schema` prints defaults, and as people write assignments in triggers.

A small grammar of what is known to be the time now, or that time cut to a unit. Whatever else there is, an offset among it, is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from incremental_assets.adapters.databases.stamps.formats import unit_of
from incremental_assets.adapters.databases.stamps.reading import WALL, Reading, grain_of
from incremental_assets.adapters.databases.stamps.tokens import Kind, NotRead, Words, tokens
from incremental_assets.core.model.stamping import Unit

Columns = Callable[[str], Reading]
"""What another column of the row holds. Raises NotRead."""

_UTC = replace(WALL, zone="UTC")
_CALLS = {
    **dict.fromkeys(("now", "current_timestamp", "localtime", "localtimestamp", "sysdate"), WALL),
    "utc_timestamp": _UTC,
}
_DAYS = {**dict.fromkeys(("curdate", "current_date"), WALL.cut(Unit.DAY)), "utc_date": _UTC.cut(Unit.DAY)}
_FIELDS = {
    # With a fraction first: what is left of it would be none of the others.
    "%s.%f": "F",
    "%S.%f": "F",
    "%Y": "Y",
    "%m": "m",
    "%d": "d",
    "%T": "H:M:S",
    "%H": "H",
    "%i": "M",
    "%s": "S",
    "%S": "S",
}
_INTRODUCED = re.compile(r"_\w+\\?'")
"""How MySQL prints a text in an expression: with its character set, and its quotes escaped."""


def no_columns(_: str) -> Reading:
    """Of an expression in which no column may stand."""
    raise NotRead


def read_all(text: str, columns: Columns = no_columns) -> Reading:
    """An expression from its first word to its last. Raises NotRead."""
    words = Words(tokens(_INTRODUCED.sub("'", text).replace("\\'", "'")))
    found = read_expression(words, columns)
    words.end()
    return found


def read_expression(words: Words, columns: Columns = no_columns) -> Reading:
    """An expression up to whatever cannot belong to it. Raises NotRead."""
    if words.accept("("):
        found = read_expression(words, columns)
        words.expect(")")
        return found
    is_quoted, name = words.next.quoted, words.name()
    if is_quoted:
        return columns(name)
    if name in _CALLS:
        return _to_digits(_CALLS[name], words)
    if name in _DAYS:
        if words.accept("("):
            words.expect(")")
        return _DAYS[name]
    if words.accept("("):
        return _called(name, words, columns)
    return columns(name)


def _called(name: str, words: Words, columns: Columns) -> Reading:
    if name not in ("cast", "convert", "date", "timestamp", "date_format"):
        raise NotRead
    found = read_expression(words, columns)
    if name in ("cast", "convert"):
        words.expect("as" if name == "cast" else ",")
        found = _as_type(found, words)
    elif name == "date":
        found = found.cut(Unit.DAY)
    elif name == "date_format":
        words.expect(",")
        found = found.cut(unit_of(words.text(), _FIELDS))
    words.expect(")")
    return found


def _as_type(found: Reading, words: Words) -> Reading:
    name = words.name()
    if name == "date":
        return found.cut(Unit.DAY)
    if name != "datetime":
        raise NotRead
    return _to_digits(found, words)


def _to_digits(found: Reading, words: Words) -> Reading:
    """With the digits of a second that stand behind it in parentheses; without any it has none."""
    digits = 0
    if words.accept("("):
        digits = words.number() if words.next.kind is Kind.NUMBER else 0
        words.expect(")")
    return replace(found, cuts=(*found.cuts, *grain_of(digits)))
