"""What an expression of SQLite reads off the clock of the machine: a small grammar of what is known to be the time now, in UTC, or that time cut to a unit."""

from __future__ import annotations

from incremental_assets.adapters.databases.stamps.formats import unit_of
from incremental_assets.adapters.databases.stamps.reading import Reading
from incremental_assets.adapters.databases.stamps.tokens import NotRead, Words, tokens
from incremental_assets.core.model.stamping import Unit

_FIELDS = {
    "%Y": "Y",
    "%m": "m",
    "%d": "d",
    "%H": "H",
    "%M": "M",
    "%S": "S",
    "%f": "F",
    "%F": "Y-m-d",
    "%T": "H:M:S",
    "%R": "H:M",
}
_STARTS = {"start of day": Unit.DAY, "start of month": Unit.MONTH, "start of year": Unit.YEAR}
_UTC = Reading(is_moment=False, zone="UTC")
_NOW = _UTC.cut(Unit.SECOND)


def read_all(text: str) -> Reading:
    """An expression from its first word to its last. Raises NotRead."""
    words = Words(tokens(text))
    found = read_expression(words)
    words.end()
    return found


def read_expression(words: Words) -> Reading:
    """An expression up to whatever cannot belong to it. Raises NotRead."""
    if words.accept("("):
        found = read_expression(words)
        words.expect(")")
        return found
    name = words.name()
    if name == "current_timestamp":
        return _NOW
    if name == "current_date":
        return _NOW.cut(Unit.DAY)
    words.expect("(")
    if name == "strftime":
        found = _UTC.cut(unit_of(words.text(), _FIELDS))
        if not words.follows(")"):
            words.expect(",")
    elif name in ("datetime", "date"):
        found = _NOW if name == "datetime" else _NOW.cut(Unit.DAY)
    else:
        raise NotRead
    return _modified(found, words)


def _modified(found: Reading, words: Words) -> Reading:
    """`'now'`, which may be left out, and what changes it. Raises NotRead for an offset, and for the zone of the machine."""
    if words.accept(")"):
        return found
    if words.text().lower() != "now":
        raise NotRead
    while words.accept(","):
        modifier = words.text().lower()
        if modifier in _STARTS:
            found = found.cut(_STARTS[modifier])
        elif modifier not in ("subsec", "subsecond"):
            raise NotRead
    words.expect(")")
    return found
