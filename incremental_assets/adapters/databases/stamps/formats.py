"""What a format leaves of a moment that is written as text: fields down to one of them, and behind it what a stamp begins with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from incremental_assets.adapters.databases.stamps.tokens import NotRead
from incremental_assets.core.model.stamping import Unit

_FORM = re.compile(
    r"Y-(?P<month>m|01)(?:-(?P<day>d|01)(?:[ T](?P<hour>H|00)(?::(?P<minute>M|00)(?::(?P<second>S|F|00|00\.0+))?)?Z?)?)?"
)
_LETTERS = re.compile(r"[^\W\d_TZ]")
"""What is none of the fields, and would be taken for one."""
_FIELDS = (
    ("month", Unit.YEAR),
    ("day", Unit.MONTH),
    ("hour", Unit.DAY),
    ("minute", Unit.HOUR),
    ("second", Unit.MINUTE),
)


def unit_of(text: str, fields: Mapping[str, str]) -> Unit:
    """The unit to which a format cuts; `fields` are the dialect's own, such as `%i`, as `Y m d H M S`, and `F` for a second with its fraction.

    Raises NotRead for any other format, and for one that shows a smaller field than one that it leaves out.
    """
    shorter, plain = text, text
    for field, sign in fields.items():
        shorter, plain = shorter.replace(field, sign), plain.replace(field, "")
    match = _FORM.fullmatch(shorter)
    if match is None or _LETTERS.search(plain):
        raise NotRead
    shown = [match[name] is not None and match[name].isalpha() for name, _ in _FIELDS]
    if any(later and not earlier for earlier, later in pairwise(shown)):
        raise NotRead
    return next((unit for (_, unit), is_shown in zip(_FIELDS, shown, strict=True) if not is_shown), Unit.SECOND)
