"""What an expression of PostgreSQL reads off the server's clock: as `pg_get_expr` prints defaults, and as people write assignments in triggers.

A small grammar of what is known to be the time now, or that time cut to a unit. Whatever else there is, an offset among it, is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from incremental_assets.adapters.databases.stamps.reading import MOMENT, WALL, Reading, elsewhere, grain_of, in_zone
from incremental_assets.adapters.databases.stamps.tokens import Kind, NotRead, Words, tokens
from incremental_assets.core.model.stamping import Unit

Columns = Callable[[str], Reading]
"""What another column of the row holds. Raises NotRead."""

_CALLS = ("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp")
"""Functions that tell a moment of the transaction, or of the statement in it."""
_KEYWORDS = {"current_timestamp": MOMENT, "localtimestamp": WALL, "current_date": WALL.cut(Unit.DAY)}
_UNITS = {
    "microseconds": None,
    "milliseconds": Unit.SECOND,
    **{unit.value: unit for unit in Unit},
}
_TEXTS = ("text", "varchar", "unknown")


def no_columns(_: str) -> Reading:
    """Of an expression in which no column may stand."""
    raise NotRead


def read_all(text: str, columns: Columns = no_columns) -> Reading:
    """An expression from its first word to its last. Raises NotRead."""
    words = Words(tokens(text))
    found = read_expression(words, columns)
    words.end()
    return found


def read_expression(words: Words, columns: Columns = no_columns) -> Reading:
    """An expression up to whatever cannot belong to it. Raises NotRead."""
    found = _cast(words, columns)
    while words.follows("at", "time", "zone"):
        words.expect("at", "time", "zone")
        found = _at_zone(found, _constant(words))
    return found


def _cast(words: Words, columns: Columns) -> Reading:
    found = _primary(words, columns)
    while words.accept("::"):
        found = _as_type(found, words)
    return found


def _primary(words: Words, columns: Columns) -> Reading:
    if words.accept("("):
        found = read_expression(words, columns)
        words.expect(")")
        return found
    if words.accept("cast", "("):
        found = read_expression(words, columns)
        words.expect("as")
        found = _as_type(found, words)
        words.expect(")")
        return found
    is_quoted, name = words.next.quoted, words.name()
    if name == "pg_catalog" and words.accept("."):
        is_quoted, name = words.next.quoted, words.name()
    if not is_quoted and name in _KEYWORDS:
        return _to_digits(_KEYWORDS[name], words)
    if words.accept("("):
        return _called(name, words, columns)
    if words.follows("."):
        raise NotRead
    return columns(name)


def _called(name: str, words: Words, columns: Columns) -> Reading:
    """A function of PostgreSQL's own, whose name stands before its arguments; one of a user's has its schema before it, and is not read."""
    if name in _CALLS:
        words.expect(")")
        return MOMENT
    if name == "date":
        found = _as_day(read_expression(words, columns))
    elif name == "timezone":
        zone = _constant(words)
        words.expect(",")
        found = _at_zone(read_expression(words, columns), zone)
    elif name == "date_trunc":
        unit = _constant(words).lower()
        words.expect(",")
        found = read_expression(words, columns)
        # In a zone of its own: where that is none of the column's, its units begin elsewhere.
        is_aligned = not (words.accept(",") and _constant(words))
        found = _truncated(found, unit, is_aligned=is_aligned)
    else:
        raise NotRead
    words.expect(")")
    return found


def _truncated(found: Reading, unit: str, *, is_aligned: bool) -> Reading:
    if unit not in _UNITS:
        raise NotRead
    cut = _UNITS[unit]
    return found if cut is None else found.cut(cut, aligned=is_aligned)


def _at_zone(found: Reading, zone: str) -> Reading:
    """A moment as the wall clock of a zone shows it, or such a reading as a moment again. Raises NotRead where that is another time than now."""
    name = in_zone(zone)
    if found.is_moment:
        # Which days and hours a session's own zone began with is not known in another.
        return Reading(is_moment=False, zone=name, cuts=elsewhere(found.cuts))
    if found.zone != name:
        raise NotRead
    return Reading(is_moment=True, cuts=elsewhere(found.cuts))


def _as_type(found: Reading, words: Words) -> Reading:
    name = words.name()
    if name == "date":
        return _as_day(found)
    if name not in ("timestamp", "timestamptz"):
        raise NotRead
    found = _to_digits(found, words)
    with_zone = name == "timestamptz"
    if words.accept("with", "time", "zone"):
        with_zone = True
    else:
        words.accept("without", "time", "zone")
    if with_zone and not found.is_moment and found.zone:
        # The session takes it for a reading of its own zone.
        raise NotRead
    return replace(found, is_moment=with_zone)


def _as_day(found: Reading) -> Reading:
    return replace(found, is_moment=False).cut(Unit.DAY)


def _to_digits(found: Reading, words: Words) -> Reading:
    """With the digits of a second that stand behind it in parentheses, to which it is rounded."""
    if not words.follows("(") or not _is_number_ahead(words):
        return found
    words.expect("(")
    digits = words.number()
    words.expect(")")
    return replace(found, cuts=(*found.cuts, *grain_of(digits)))


def _is_number_ahead(words: Words) -> bool:
    """Whether a number stands in the parentheses, and no argument."""
    return words.after.kind is Kind.NUMBER


def _constant(words: Words) -> str:
    """A text, with its type behind it as `pg_get_expr` prints it."""
    found = words.text()
    if words.accept("::") and words.name() not in _TEXTS:
        raise NotRead
    return found
