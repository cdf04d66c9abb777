"""Oracle's type table: what holds a declared type in Spark, the form in which a value is selected, and how a cursor is compared.

A type that is not here is refused by its name when its table is read: no text is known to hold its values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from incremental_assets.adapters.databases.local_rows import Unfit
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets_experimental.rowwise.rows import scaled
from incremental_assets_experimental.rowwise.sql import EVERY, NONE

_ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH LOCAL TIME ZONE")
_EXACT = {
    "BINARY_FLOAT": "float",
    "BINARY_DOUBLE": "double",
    "BOOLEAN": "boolean",
    # It has a time of day.
    "DATE": "timestamp_ntz",
    "TIMESTAMP": "timestamp_ntz",
    **dict.fromkeys(_ZONED, "timestamp"),
    **dict.fromkeys(("CHAR", "VARCHAR2", "NCHAR", "NVARCHAR2", "CLOB", "NCLOB", "LONG"), "string"),
    **dict.fromkeys(("RAW", "LONG RAW", "BLOB"), "binary"),
}
_TEXTS = {
    "NUMBER": "{}",
    "FLOAT": "{}",
    "INTERVAL YEAR TO MONTH": "TO_CHAR({})",
    "INTERVAL DAY TO SECOND": "TO_CHAR({})",
    "ROWID": "ROWIDTOCHAR({})",
    "JSON": "JSON_SERIALIZE({} RETURNING CLOB)",
    "XMLTYPE": "XMLSERIALIZE(CONTENT {} AS CLOB)",
}
_WHEN = 'SYYYY-MM-DD"T"HH24:MI:SS'
_MOST = 38
"""Digits of Spark's decimals."""
_NUMBER = re.compile(r"NUMBER\((\d+|\*)(?:,(-?\d+))?\)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_FRACTION = re.compile(r"TIMESTAMP\((\d)\)")


def declared(name: str, length: int, unit: str, precision: int | None, scale: int | None) -> str:
    """A column's type as people write it, by the numbers of ALL_TAB_COLS; `unit`: whether a length counts bytes (B) or characters (C)."""
    match name:
        case "NUMBER" if precision is not None or scale is not None:
            digits = "*" if precision is None else precision
            return f"NUMBER({digits})" if not scale and precision is not None else f"NUMBER({digits},{scale})"
        case "FLOAT":
            return f"FLOAT({precision})"
        case "VARCHAR2" | "CHAR":
            return f"{name}({length} {'CHAR' if unit == 'C' else 'BYTE'})"
        case "NVARCHAR2" | "NCHAR" | "RAW":
            return f"{name}({length})"
    return name


def spark_type(source_type: str) -> tuple[str, Fidelity]:
    """The Spark type of a declared one. A NUMBER without digits may hold any 40 of them, at any place: its text does."""
    if found := _NUMBER.fullmatch(source_type):
        kind = _number(_MOST if found[1] == "*" else int(found[1]), int(found[2] or 0))
        return (kind, Fidelity.EXACT) if kind else ("string", Fidelity.TEXT)
    kind = _EXACT.get(_name(source_type), "")
    return ("string", Fidelity.TEXT) if not kind or _is_finer(source_type) else (kind, Fidelity.EXACT)


def shown(column: Column, sql: str) -> str:
    """The form in which a value is selected: a moment as its text, as the driver has no year before 1. Raises SourceRefused."""
    name = _name(column.source_type)
    if _is_finer(column.source_type):
        zone = "TZH:TZM" if name == _ZONED[0] else '"Z"' if name in _ZONED else ""
        return f"LTRIM(TO_CHAR({sql}, '{_WHEN}.FF9{zone}'))"
    if name == "DATE":
        return f"TO_CHAR({sql}, '{_WHEN}')"
    if name == _ZONED[0]:
        return f"TO_CHAR(SYS_EXTRACT_UTC({sql}), '{_WHEN}.FF6')"
    if name.startswith("TIMESTAMP"):
        return f"TO_CHAR({sql}, '{_WHEN}.FF6')"
    if name in _TEXTS:
        return _TEXTS[name].format(sql)
    if name in _EXACT:
        return sql
    raise SourceRefused(
        f"the column {column.name} is of the type {column.source_type}, which neither a type of Spark nor a text is known to hold: "
        "sync a view that converts it, or leaves it out"
    )


def beyond(column: Column, sql: str, sign: str, value: CursorValue) -> str:
    """The column's value compared with a finite cursor, in the column's own type, so that an index answers it."""
    if value.type is CursorType.INTEGER:
        return f"{sql} {sign} {int(value.text)}"
    moment = value.moment()
    if value.type is CursorType.DATE:
        # `< day` and `>= day` mean the same of a moment as of its day; the others mean the day that follows.
        follows = sign in (">", "<=")
        return _on(sql, {">": ">=", "<=": "<"}.get(sign, sign), moment.date(), timedelta(days=int(follows)))
    literal = moment.strftime("%H:%M:%S.%f")
    if column.source_type != "DATE":
        zone = " +00:00" if value.type is CursorType.TIMESTAMP else ""
        return f"{sql} {sign} TIMESTAMP '{moment.date().isoformat()} {literal}{zone}'"
    # It counts whole seconds: of one that is not whole, `>=` and `<` mean the second that follows.
    second = moment.replace(microsecond=0, tzinfo=None)
    return _on(sql, sign, second, timedelta(seconds=int(bool(moment.microsecond) and sign in (">=", "<"))))


def converter(column: Column) -> Callable[[Any], Any]:
    """Gives what Spark is to hold, from what the driver brings. Raises Unfit."""
    if found := _DECIMAL.fullmatch(column.spark_type):
        digits, scale = int(found[1]), int(found[2])
        return lambda value: _fitting(scaled(Decimal(value), scale), digits)
    simple: dict[str, Callable[[Any], Any]] = {
        "bigint": int,
        "boolean": bool,
        "float": float,
        "double": float,
        "binary": bytes,
        "timestamp": lambda value: _moment(value).replace(tzinfo=UTC),
        "timestamp_ntz": _moment,
    }
    return simple.get(column.spark_type, _text)


def _number(digits: int, scale: int) -> str:
    """The Spark type of a NUMBER of a precision and a scale, which may be negative or above the precision; empty where that has more than 38 digits."""
    if 0 < digits <= 18 and not scale:
        return "bigint"
    whole, right = max(0, digits - scale), max(0, scale)
    return f"decimal({max(1, whole + right)},{right})" if whole + right <= _MOST else ""


def _fitting(value: Decimal, digits: int) -> Decimal:
    if len(value.as_tuple().digits) > digits:
        raise Unfit(f"it has more than {digits} digits")
    return value


def _on(sql: str, sign: str, value: date, later: timedelta) -> str:
    try:
        found = value + later
    except OverflowError:
        return NONE if sign[0] == ">" else EVERY
    form = "YYYY-MM-DD HH24:MI:SS" if isinstance(found, datetime) else "YYYY-MM-DD"
    return f"{sql} {sign} TO_DATE('{found}', '{form}')"


def _moment(value: str) -> datetime:
    text = value.strip()
    if text.startswith(("-", "0000")):
        raise Unfit("it lies before the year 1")
    return datetime.fromisoformat(text)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    found = str(value)
    try:
        found.encode()
    except UnicodeEncodeError:
        raise Unfit("the text holds bytes that are no character") from None
    return found


def _is_finer(source_type: str) -> bool:
    """Whether it has more digits of a second than Spark's moments."""
    found = _FRACTION.match(source_type)
    return found is not None and int(found[1]) > 6


def _name(source_type: str) -> str:
    return re.sub(r"\([^)]*\)", "", source_type)
