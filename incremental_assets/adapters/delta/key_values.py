"""The value of a key from the text that its source wrote of it, as a quarantine keeps it: of any year, with any zone, and of bytes too."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.spark.arrow_types import comparable, required_type
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.key_text import canonical

_MOMENT = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{4,6})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[ T](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,6})0*)?)?)?"
    r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?(?P<before> BC)?"
)
"""As PostgreSQL (`12024-01-02`, `0044-03-15 BC`), MariaDB, MySQL, SQLite (`T`, `Z`, an offset) and Spark (`+12024-01-02`, `-0043-03-15`) have them."""
_ESCAPED = re.compile(r"^x'|\\|\N{REPLACEMENT CHARACTER}")
"""How bytes are shown that are no text."""
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_DAY_MICROS, _MINUTE_MICROS = 86_400_000_000, 60_000_000
_BYTES = re.compile(r"x'(?P<digits>(?:[0-9a-f]{2})*)'")
"""As MariaDB, MySQL and SQLite show bytes; the first two only those that are no text."""


def key_value(text: str | None, column: Column) -> Any:
    """As `comparable` has it; None for NULL, and where the text is no value of its type, as of a row that cannot land for it."""
    kind = column.spark_type
    if text is None:
        return None
    if kind == "binary":
        return _bytes(text, column.source_type)
    if kind == "date" or kind.startswith("timestamp"):
        micros = _micros(text)
        return micros // _DAY_MICROS if micros is not None and kind == "date" else micros
    try:
        return comparable(pc.cast(pa.chunked_array([[text]]), required_type(kind)))[0].as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def canonical_text(text: str | None, column: Column) -> str | None:
    """See `measure.spark_row_text`, of any type but floating numbers; None for a text that may not be the whole of what the source has."""
    kind = column.spark_type
    if kind == "string":
        return None if text is None or _ESCAPED.search(text) else f"{len(text)}:{text}"
    value = key_value(text, column)
    if value is None:
        return None
    if kind == "binary":
        return str(value.hex())
    if kind == "boolean":
        return "true" if value else "false"
    return format(value, "f") if kind.startswith("decimal") else str(value)


def compared_text(text: str, column: Column) -> str:
    """As erased keys are compared, see `core.model.key_text`; the text itself where it is no value of the column."""
    kind = column.spark_type
    value = None if kind == "string" else key_value(text, column)
    if value is None:
        return text
    if kind == "date" or kind.startswith("timestamp"):
        try:
            moment = datetime(1970, 1, 1) + timedelta(**{"days" if kind == "date" else "microseconds": value})  # noqa: DTZ001 - UTC, or no zone at all
        except OverflowError:
            return text
        return canonical(moment.date() if kind == "date" else moment)
    return canonical(value)


def _bytes(text: str, source_type: str) -> bytes:
    if source_type == "bytea":
        return bytes.fromhex(text.removeprefix(r"\x"))
    shown = _BYTES.fullmatch(text)
    return bytes.fromhex(shown["digits"]) if shown else text.encode()


def _micros(text: str) -> int | None:
    """Since 1970 in UTC, in which sessions of ours and copies are."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year = int(found["year"])
    # Before the year 1 comes one that PostgreSQL calls 1 BC and others 0.
    year = 1 - year if found["before"] else -year if found["sign"] == "-" else year
    # Python's calendar has the years 1 to 9999, and repeats after 400.
    cycles = (year - 1) // _CYCLE_YEARS
    try:
        inside = date(year - cycles * _CYCLE_YEARS, int(found["month"]), int(found["day"]))
    except ValueError:
        return None
    minutes = int(found["hour"] or 0) * 60 + int(found["minute"] or 0) - _offset(found["zone"])
    micros = int(found["second"] or 0) * 1_000_000 + int((found["fraction"] or "").ljust(6, "0"))
    days = inside.toordinal() + cycles * _CYCLE_DAYS - _EPOCH
    return days * _DAY_MICROS + minutes * _MINUTE_MICROS + micros


def _offset(zone: str | None) -> int:
    """In minutes, east of Greenwich."""
    if zone in (None, "Z"):
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return -minutes if zone[0] == "-" else minutes
