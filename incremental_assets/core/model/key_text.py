"""The one text of a value of a key, however somebody has written it: by which an erasure finds it in files and in lists. Pure."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from incremental_assets.core.model.column import WHOLE, Column

_PADDED = re.compile(r"character\((\d+)\)")
"""PostgreSQL's, whose values have blanks at their end."""
_WHOLE = re.compile(r"[+-]?[0-9]+")


def canonical(value: Any) -> str:
    """The text by which values are compared, whatever holds them: of a moment that of its instant in UTC, of a number without zeros at its end."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, Decimal):
        text = format(value, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def key_text(column: Column, text: str) -> str:
    """That of a value which somebody has written, or a source. Raises ValueError where the column has no such value."""
    if column.source_type == "uuid":
        return text.lower()
    if padded := _PADDED.fullmatch(column.source_type):
        return text.ljust(int(padded[1]))
    return canonical(_value(column.spark_type, text))


def _value(kind: str, text: str) -> Any:
    if kind in WHOLE:
        if not _WHOLE.fullmatch(text):
            raise ValueError(kind)
        return int(text)
    if kind.startswith("decimal"):
        return _decimal(text)
    if kind == "boolean":
        if text.lower() not in ("true", "false"):
            raise ValueError(kind)
        return text.lower() == "true"
    if kind == "date":
        return date.fromisoformat(text)
    if kind.startswith("timestamp"):
        return _moment(text, zoned=kind == "timestamp")
    return bytes.fromhex(text.removeprefix("\\x").removeprefix("0x")) if kind == "binary" else text


def _decimal(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError("decimal") from None
    if not found.is_finite():
        raise ValueError("decimal")
    # One zero has no sign.
    return abs(found) if found == 0 else found


def _moment(text: str, *, zoned: bool) -> datetime:
    found = datetime.fromisoformat(text)
    if zoned:
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    if found.tzinfo is not None and found.utcoffset():
        raise ValueError("timestamp_ntz")
    return found.replace(tzinfo=None)
