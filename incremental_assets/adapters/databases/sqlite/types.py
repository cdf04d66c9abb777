"""SQLite's type table: the Spark type of a declared type, and which stored values do not fit it; those are quarantined, never altered.

SQLite takes any value in any column. So a value is looked at as it is stored: a text in a column of numbers is a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.core.model.column import Column, Fidelity

Stored = int | float | str | bytes | None

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(?P<zone>Z|[+-]\d\d:\d\d)?")


def spark_type(declared: str) -> tuple[str, Fidelity]:
    """The Spark type of a declared one, by SQLite's own rules where it has some. Whatever is not known travels as SQLite's text."""
    name = declared.upper().partition("(")[0].strip()
    if name in ("BOOLEAN", "BOOL"):
        return "boolean", Fidelity.EXACT
    if name == "DATE":
        return "date", Fidelity.EXACT
    if name in ("DATETIME", "TIMESTAMP"):
        return "timestamp_ntz", Fidelity.EXACT
    if "INT" in name:
        return "bigint", Fidelity.EXACT
    if any(word in name for word in ("CHAR", "CLOB", "TEXT")):
        return "string", Fidelity.EXACT
    if "BLOB" in name:
        return "binary", Fidelity.EXACT
    if any(word in name for word in ("REAL", "FLOA", "DOUB")):
        return "double", Fidelity.EXACT
    return "string", Fidelity.TEXT


def readings(declared: str) -> tuple[str, ...]:
    """The other Spark types by which a cursor may be read: applications keep moments as texts, in STRICT tables they have to, or as whole numbers."""
    return _READINGS.get(spark_type(declared), ())


def converters(columns: Sequence[Column]) -> list[Callable[[Stored], Any]]:
    """The converter of each column."""
    return [converter(column.spark_type, column.fidelity) for column in columns]


def converter(kind: str, fidelity: Fidelity) -> Callable[[Stored], Any]:
    """Gives the value that Spark is to hold, from a stored one that is not NULL. Raises Unfit."""
    return _as_text if travels_as_text(kind, fidelity) else _CONVERTERS[kind]


def moment(value: Stored) -> datetime:
    """A stored date and time, in UTC where it says its zone. Raises Unfit."""
    if not isinstance(value, str) or not _MOMENT.fullmatch(value):
        raise Unfit(f"{_kind(value)} is no `YYYY-MM-DD HH:MM:SS`")
    try:
        found = datetime.fromisoformat(value)
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise Unfit(str(error)) from None


def zone_of(value: Stored) -> str:
    """The zone that a stored moment says, `Z` or an offset; empty where it says none."""
    match = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    return (match["zone"] or "") if match else ""


def day(value: Stored) -> date:
    """A stored date. Raises Unfit."""
    if not isinstance(value, str) or not _DAY.fullmatch(value):
        raise Unfit(f"{_kind(value)} is no `YYYY-MM-DD`")
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise Unfit(str(error)) from None


def whole(value: Stored) -> int:
    """A stored whole number. Raises Unfit."""
    if not isinstance(value, int):
        raise Unfit(f"{_kind(value)} is no whole number")
    return value


def printed(value: Stored) -> str:
    """A stored value as people read it: bytes as `x'…'`."""
    return f"x'{value.hex()}'" if isinstance(value, bytes) else str(value)


def is_unicode(text: str) -> bool:
    """Whether a text of the file is UTF-8: else its other bytes stand in it as half surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def number_of(value: Stored) -> str | None:
    """What a number is worth, or a text that a number lands as, the same for numbers that are equal; None for anything else."""
    if isinstance(value, str):
        if not _reads_as_number(value):
            return None
        value = int(value) if value.lstrip("-").isdecimal() else float(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and -(2**63) <= value < 2**63 else repr(value)
    return str(value) if isinstance(value, int) else None


def _truth(value: Stored) -> bool:
    if value not in (0, 1) or not isinstance(value, int):
        raise Unfit(f"{_kind(value)} is neither 0 nor 1")
    return bool(value)


def _number(value: Stored) -> float:
    if not isinstance(value, float):
        raise Unfit(f"{_kind(value)} is no floating point number")
    return value


def _text(value: Stored) -> str:
    if not isinstance(value, str):
        raise Unfit(f"{_kind(value)} is no text")
    if not is_unicode(value):
        raise Unfit("the text is not UTF-8")
    return value


def _bytes(value: Stored) -> bytes:
    if not isinstance(value, bytes):
        raise Unfit(f"{_kind(value)} is no blob")
    return value


def _as_text(value: Stored) -> str:
    if isinstance(value, bytes):
        raise Unfit("a blob is no text")
    return _text(value) if isinstance(value, str) else str(value)


def travels_as_text(kind: str, fidelity: Fidelity) -> bool:
    """Whether a value of any kind lands there, as its text."""
    return (kind, fidelity) == ("string", Fidelity.TEXT)


def _reads_as_number(text: str) -> bool:
    """Whether SQLite may hold a number that lands as this text: a whole one of 64 bits, or a floating point one, which is never NaN."""
    try:
        if str(int(text)) == text:
            return -(2**63) <= int(text) < 2**63
    except ValueError:
        pass
    try:
        return str(float(text)) == text != "nan"
    except ValueError:
        return False


def _kind(value: Stored) -> str:
    return {int: "an integer", float: "a floating point number", str: "this text", bytes: "a blob"}[type(value)]


_READINGS = {
    ("string", Fidelity.EXACT): ("timestamp_ntz", "date"),
    ("string", Fidelity.TEXT): ("timestamp_ntz", "date", "bigint"),
    ("timestamp_ntz", Fidelity.EXACT): ("bigint",),
    ("date", Fidelity.EXACT): ("timestamp_ntz", "bigint"),
}
_CONVERTERS: dict[str, Callable[[Stored], Any]] = {
    "boolean": _truth,
    "date": day,
    "timestamp_ntz": moment,
    "bigint": whole,
    "string": _text,
    "binary": _bytes,
    "double": _number,
}
