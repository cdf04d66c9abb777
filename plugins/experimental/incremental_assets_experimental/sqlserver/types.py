"""SQL Server's type table: what holds a declared type in Spark, the form in which a value is selected, and how a cursor is compared.

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

_EXACT = {
    "bit": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "int",
    "bigint": "bigint",
    "rowversion": "bigint",
    "money": "decimal(19,4)",
    "smallmoney": "decimal(10,4)",
    "real": "float",
    "float": "double",
    "date": "date",
    "datetime": "timestamp_ntz",
    "smalldatetime": "timestamp_ntz",
    "datetime2": "timestamp_ntz",
    "datetimeoffset": "timestamp",
    **dict.fromkeys(("char", "varchar", "nchar", "nvarchar", "text", "ntext"), "string"),
    **dict.fromkeys(("binary", "varbinary", "image"), "binary"),
}
_TEXTS = {
    "uniqueidentifier": "CONVERT(char(36), {})",
    "time": "CONVERT(varchar(16), {}, 121)",
    "hierarchyid": "{}.ToString()",
}
_UNICODE = frozenset(("char", "varchar", "nchar", "nvarchar", "text", "ntext", "xml", "json"))
"""They travel as the bytes of their UTF-16: the driver knows not every code page, and gives up at half a surrogate."""
_TENTHS = {"datetime2(7)": "CONVERT(varchar(27), {}, 121)", "datetimeoffset(7)": "CONVERT(varchar(34), {}, 121)"}
"""They count in tenths of a microsecond, which Spark's moments do not."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def declared(name: str, length: int, precision: int, scale: int) -> str:
    """A column's type as people write it, by the numbers of `sys.columns`."""
    match name:
        case "timestamp":
            # The old name of a type that is no moment.
            return "rowversion"
        case "decimal" | "numeric":
            return f"decimal({precision},{scale})"
        case "datetime2" | "datetimeoffset" | "time":
            return f"{name}({scale})"
        case "nchar" | "nvarchar":
            return f"{name}({'max' if length < 0 else length // 2})"
        case "char" | "varchar" | "binary" | "varbinary":
            return f"{name}({'max' if length < 0 else length})"
    return name


def spark_type(source_type: str) -> tuple[str, Fidelity]:
    """The Spark type of a declared one."""
    if _DECIMAL.fullmatch(source_type):
        return source_type, Fidelity.EXACT
    if source_type in _TENTHS or _name(source_type) not in _EXACT:
        return "string", Fidelity.TEXT
    return _EXACT[_name(source_type)], Fidelity.EXACT


def shown(column: Column, sql: str) -> str:
    """The form in which a value is selected. Raises SourceRefused."""
    name = _name(column.source_type)
    if column.source_type in _TENTHS:
        return _TENTHS[column.source_type].format(sql)
    if name in _TEXTS:
        return _TEXTS[name].format(sql)
    if name in _UNICODE:
        return f"CONVERT(varbinary(max), CONVERT(nvarchar(max), {sql}))"
    if name == "datetime":
        # It counts in thirds of a hundredth of a second, and prints three digits.
        return f"CONVERT(datetime2(3), {sql})"
    if name == "rowversion":
        return f"CONVERT(bigint, {sql})"
    if name in _EXACT or _DECIMAL.fullmatch(column.source_type):
        return sql
    raise SourceRefused(_refusal(column))


def beyond(column: Column, sql: str, sign: str, value: CursorValue) -> str:
    """The column's value compared with a finite cursor, in the column's own type, so that an index answers it."""
    if value.type is CursorType.INTEGER:
        number = int(value.text)
        if column.source_type == "rowversion":
            # The order of its eight bytes is that of the number, which is never negative.
            return f"{sql} {sign} CONVERT(binary(8), CONVERT(bigint, {max(0, min(2**63 - 1, number))}))"
        return f"{sql} {sign} {number}"
    if value.type is CursorType.DATE:
        return _by_day(column, sql, sign, value.moment().date())
    literal = value.text.removesuffix("Z")
    if value.type is CursorType.TIMESTAMP:
        return f"{sql} {sign} CONVERT(datetimeoffset(7), '{literal}+00:00')"
    exact = f"{shown(column, sql)} {sign} CONVERT(datetime2(7), '{literal}')"
    if column.source_type != "datetime":
        return exact
    near = _near(sign, value.moment())
    return f"{sql} {near} AND {exact}" if near else exact


def converter(column: Column) -> Callable[[Any], Any]:
    """Gives what Spark is to hold, from what the driver brings. Raises Unfit."""
    kind = column.spark_type
    if found := _DECIMAL.fullmatch(kind):
        scale = int(found[2])
        return lambda value: scaled(Decimal(value), scale)
    simple: dict[str, Callable[[Any], Any]] = {
        "boolean": bool,
        "float": float,
        "double": float,
        "binary": bytes,
        "string": _text,
        "date": lambda value: value.date() if isinstance(value, datetime) else value,
        "timestamp": _instant,
        "timestamp_ntz": lambda value: value,
    }
    return simple.get(kind, int)


def _instant(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise Unfit("in UTC it lies outside of the years 1 to 9999") from None


def _text(value: Any) -> str:
    if not isinstance(value, (bytes, bytearray)):
        return str(value)
    try:
        return bytes(value).decode("utf-16-le")
    except UnicodeDecodeError:
        raise Unfit("the text holds half a surrogate, which is no character") from None


def _by_day(column: Column, sql: str, sign: str, day: date) -> str:
    """`< day` and `>= day` mean the same of a moment as of its day; the others mean the day that follows."""
    if column.source_type != "date" and sign in (">", "<="):
        sign = {">": ">=", "<=": "<"}[sign]
        if day == date.max:
            return "1 = 0" if sign == ">=" else "1 = 1"
        day += timedelta(days=1)
    kind = "date" if column.source_type == "date" else "datetime2(0)"
    return f"{sql} {sign} CONVERT({kind}, '{day.isoformat()}')"


def _near(sign: str, moment: datetime) -> str:
    """A whole second beyond, as an index of a `datetime` finds it; empty outside of that type's years."""
    if not 1753 < moment.year < 9999:
        return ""
    second = moment.replace(microsecond=0) + timedelta(seconds=-1 if sign[0] == ">" else 2)
    return f"{sign[0]}= CONVERT(datetime, '{second.isoformat()}')"


def _refusal(column: Column) -> str:
    kind = column.source_type
    if kind.startswith("masked "):
        return f"the column {column.name} is masked for this user, so that its values would not be the source's: GRANT UNMASK to it, or sync a view without the column"
    if kind.startswith("encrypted "):
        return f"the column {column.name} is encrypted by its client, and the server has no value of it: sync a view without the column"
    return f"the column {column.name} is of the type {kind}, which neither a type of Spark nor a text is known to hold: sync a view that converts it, or leaves it out"


def _name(source_type: str) -> str:
    return source_type.partition("(")[0]
