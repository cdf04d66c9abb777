"""Decides which types a column of a Delta table can take without a rewrite of its files: each value stays what it was. Pure.

Source: Delta's type widening, whose table of changes this is.
"""

from __future__ import annotations

import re

_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
"""Whole digits that a decimal needs to take a whole number of the type; Delta asks for these."""
_WIDER = {
    "byte": ("short", "integer", "long", "double"),
    "short": ("integer", "long", "double"),
    "integer": ("long", "double"),
    "float": ("double",),
    "date": ("timestamp_ntz",),
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def widens(was: str, now: str) -> bool:
    """Whether a column of one type becomes one of the other in place; both in Delta's words."""
    before, after = _DECIMAL.fullmatch(was), _DECIMAL.fullmatch(now)
    if after is None:
        return now in _WIDER.get(was, ())
    precision, scale = int(after[1]), int(after[2])
    if before is None:
        return was in _DIGITS and precision - scale >= _DIGITS[was]
    held = int(before[1]), int(before[2])
    return scale >= held[1] and precision - scale >= held[0] - held[1] and (precision, scale) != held
