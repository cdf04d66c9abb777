"""Proposals as the text of sources.yaml: comments say why, and what a person may fix. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.discovery.proposal import Proposal
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.table import Cursor, NullPolicy
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import traits_of
from incremental_assets.core.words import counted

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""What YAML takes for something else than a text."""
_NAMED = 4
"""The most candidates of a table that are shown, best first."""
_PARTITIONS = 100
"""About so many ranges of a whole number, so that one can still be looked at by itself."""
_ENDS = (-(2**63), -(2**31), 2**31 - 1, 2**63 - 1)
_NEAR = 1000
"""A number so close to the end of its type stands for "none" or "always", and is no place where rows are."""
_WIDTH = 130


def entries(proposals: Iterable[Proposal], indent: str) -> str:
    """The entries below `tables:`; of those that are left out, a comment."""
    return "\n".join("\n".join(f"{indent}{line}" for line in _entry(each)) for each in proposals)


def scalar(text: str) -> str:
    """A text as YAML reads it back, whatever it holds."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def comment(text: str) -> str:
    """One line, whatever a name holds."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _escaped(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"


def _entry(each: Proposal) -> Iterator[str]:
    table = render_table(each.shape.id.schema, each.shape.id.name)
    if each.terms is None:
        yield from _wrapped(f"{table}: left out, {each.why}")
        return
    yield from _wrapped(f"{table}: {', '.join([*_size(each.shape), each.why])}")
    for number, found in enumerate(each.candidates[:_NAMED], 1):
        chosen = ", taken" if found is each.taken else ""
        reasons = "; ".join(found.reasons)
        yield from _wrapped(f"{number}. {found.name} ({found.traits.type}{chosen}): {reasons}", "  ")
    for fix in each.fixes:
        yield from _wrapped(f"to fix: {fix}", "  ")
    yield f"- table: {scalar(table)}"
    yield from (f"  {line}" for line in _terms(each, each.terms))


def _terms(each: Proposal, terms: TableConfig) -> Iterator[str]:
    if terms.cursor is not None:
        yield f"cursor: {_cursor(terms.cursor)}"
    yield f"strategy: {terms.strategy}"
    if terms.primary_key is not None:
        yield f"primary_key: [{', '.join(map(scalar, terms.primary_key))}]"
    if terms.cursor is not None and not terms.cursor.by_transaction and not traits_of(terms.strategy).overwrites:
        grid = _grid(terms.cursor, each)
        if grid:
            yield f"partitions: {{{grid}}}"


def _cursor(cursor: Cursor) -> str:
    if cursor.by_transaction:
        return f"{{type: {cursor.column}}}"
    parts = [f"column: {scalar(cursor.column)}", f"type: {cursor.type}"]
    parts += [f"nulls: {cursor.nulls}"] if cursor.nulls is not NullPolicy.FAIL else []
    parts += [f"fallback: {scalar(cursor.fallback)}"] if cursor.fallback else []
    parts += [f"zone: {scalar(cursor.zone)}"] if cursor.zone else []
    parts += [f"stamped: {{by: application, within: {format_duration(cursor.within)}}}"] if cursor.within else []
    return f"{{{', '.join(parts)}}}"


def _grid(cursor: Cursor, each: Proposal) -> str:
    """`partitions` for the range of the cursor: months from the first row, or days where the range is under 62 days; of whole numbers about a hundred ranges over them. Empty where the first day is not known."""
    if cursor.type is CursorType.INTEGER:
        size = 10 ** max(5, len(str(max(1, _span(each) // _PARTITIONS))))
        return f"size: {size}"
    first = _day(each.lowest)
    if first is None:
        return ""
    is_young = (last := _day(each.highest)) is not None and timedelta() <= last - first < timedelta(days=62)
    return f"every: {'day' if is_young else 'month'}, from: {first if is_young else first.replace(day=1)}"


def _span(each: Proposal) -> int:
    """How far the numbers reach; where one of the ends is a placeholder at the end of its type, as many as there are rows: a grid over the type would have all of them in one range."""
    if each.highest is None or each.lowest is None:
        return 0
    lowest, highest = int(each.lowest.text), int(each.highest.text)
    if any(abs(number - end) <= _NEAR for number in (lowest, highest) for end in _ENDS):
        return each.shape.rows or 0
    return highest - lowest


def _day(value: CursorValue | None) -> date | None:
    """The day of a value; None for one before 1970, after 2999 or not finite, such as a placeholder, with which no grid should begin."""
    if value is None or not value.is_finite:
        return None
    try:
        day = value.moment().date()
    except (OverflowError, ValueError):
        return None
    return day if date(1970, 1, 1) < day <= date(2999, 12, 31) else None


def _size(shape: TableShape) -> Sequence[str]:
    return [f"about {counted(shape.rows, 'row')}"] if shape.rows else []


def _wrapped(text: str, deeper: str = "") -> Iterator[str]:
    """Comments of a readable width; a long word stays whole."""
    line = ""
    for word in comment(text).split(" "):
        if line and len(line) + 1 + len(word) > _WIDTH:
            yield f"# {deeper}{line}"
            line = f"  {word}"
        else:
            line = f"{line} {word}" if line else word
    yield f"# {deeper}{line}"
