"""Values that Debezium could not see, as an update left them where PostgreSQL keeps large values (TOAST): a word stands in their place. Pure."""

from __future__ import annotations

import base64
from typing import Any

_WORD = "__debezium_unavailable_value"
_TEXTS = frozenset({_WORD, base64.b64encode(_WORD.encode()).decode(), _WORD.encode().hex()})


def is_unsent(value: Any) -> bool:
    """Whether that word stands there, in whichever way the connector writes the column."""
    if isinstance(value, str):
        return value in _TEXTS
    if isinstance(value, list):
        return value == [_WORD]
    return isinstance(value, dict) and _WORD in value
