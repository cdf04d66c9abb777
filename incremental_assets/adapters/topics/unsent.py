"""Values that Debezium could not see, as an update left them where PostgreSQL keeps large values (TOAST): a word stands in their place. Pure."""

from __future__ import annotations

import base64
import hashlib
import uuid
from typing import Any

_WORD = "__debezium_unavailable_value"
_OCTETS = _WORD.encode()
_BASE64, _HEX = base64.b64encode(_OCTETS).decode(), _OCTETS.hex()
_TEXTS = frozenset({_WORD, _BASE64, _HEX, f'{{"{_WORD}":"{_WORD}"}}'})
"""The last one is an hstore that is written as JSON."""
# Java makes a UUID of a name so.
_UUID = str(uuid.UUID(bytes=hashlib.md5(_OCTETS, usedforsecurity=False).digest(), version=3))
_LISTS = ([_WORD], [_BASE64], [_HEX], [_UUID], [*_OCTETS])
"""Arrays of texts, of octets, of UUIDs, and of whole numbers or days, in which each letter is a number."""


def is_unsent(value: Any) -> bool:
    """Whether that word stands there, in whichever way the connector writes the column."""
    if isinstance(value, str):
        return value in _TEXTS
    if isinstance(value, list):
        return value in _LISTS
    return isinstance(value, dict) and _WORD in value
