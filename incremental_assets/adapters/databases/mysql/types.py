"""What a column declares, what holds it in Spark, and how a value travels: the expression that is selected, the one that tells whether Spark can
hold it, and its canonical text for the hashes of `databases/measure.py`.

Every expression prints the same whatever the server's modes are. A value that Spark cannot hold (a zero date, half a surrogate) is none of its kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from incremental_assets.adapters.databases.mysql.collation import collation_key
from incremental_assets.adapters.databases.mysql.floats import hexadecimal_sql
from incremental_assets.adapters.databases.mysql.sql import identifier
from incremental_assets.core.model.column import Column, Fidelity

_SIGNED = {"tinyint": "smallint", "smallint": "smallint", "mediumint": "int", "int": "int", "bigint": "bigint"}
_UNSIGNED = {"tinyint": "smallint", "smallint": "int", "mediumint": "int", "int": "bigint", "bigint": "decimal(20,0)"}
_TEXTS = frozenset(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"))
_PRINTED = _TEXTS | {"json"}
"""What is sent as a text without a cast, which has no result where the text is long."""
_BINARY = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"))
_SPATIAL = frozenset(
    (
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
    )
)
_MOMENTS = {"date": "date", "datetime": "timestamp_ntz", "timestamp": "timestamp"}
_PRECISION = re.compile(r"decimal\((\d+),(\d+)\)")
_LARGEST = 38
"""Digits of a decimal in Spark; the server has up to 65."""
_EPOCH_DAY = 719528
"""TO_DAYS of 1970-01-01."""


def spark_type(declared: str) -> tuple[str, Fidelity]:
    """The Spark type of a declared one, such as `int(10) unsigned`. Whatever is not known travels as the server's text."""
    name = _name(declared)
    if name in _SIGNED:
        return (_UNSIGNED if "unsigned" in declared else _SIGNED)[name], Fidelity.EXACT
    if name == "bit":
        return {"bit(1)": "boolean", "bit(64)": "decimal(20,0)"}.get(declared, "bigint"), Fidelity.EXACT
    if name == "decimal" and (found := _PRECISION.match(declared)) and int(found[1]) <= _LARGEST:
        return f"decimal({found[1]},{found[2]})", Fidelity.EXACT
    if name in _MOMENTS:
        return _MOMENTS[name], Fidelity.EXACT
    if name in ("float", "double"):
        return name, Fidelity.EXACT
    if name == "year":
        return "smallint", Fidelity.EXACT
    if name in _BINARY or name in _SPATIAL:
        return "binary", Fidelity.EXACT
    return "string", Fidelity.EXACT if name in _TEXTS else Fidelity.TEXT


@dataclass(frozen=True, slots=True)
class Travel:
    """How one column travels, in SQL."""

    select: str
    unfit: str
    """Whether Spark cannot hold it; empty where it holds every value."""
    canonical: str
    printed: str
    """Something without commas that is equal for equal values alone, whether Spark can hold them or not."""


def travel(column: Column) -> Travel:
    """How the values of a column travel, by its declared type, or how a collation key does."""
    if column.of:
        key = collation_key(column.of)
        return Travel(key, "", f"CONCAT(CHAR_LENGTH({key}), ':', {key})", key)
    own, name = identifier(column.name), _name(column.source_type)
    match column.spark_type:
        case "string":
            return _text(own if name in _PRINTED else f"CAST({own} AS CHAR CHARACTER SET utf8mb4)")
        case "binary":
            digits = f"LOWER(HEX({own}))"
            return Travel(own, "", digits, f"SHA2({own}, 256)")
        case "date" | "timestamp" | "timestamp_ntz" as kind:
            return _moment(own, kind)
        case "float" | "double":
            # As it is printed, a float has six digits.
            exact = f"({own} + 0e0)"
            return Travel(exact, "", hexadecimal_sql(exact), f"CAST({exact} AS CHAR)")
        case "boolean":
            return Travel(
                f"({own} + 0)", "", f"CASE ({own} + 0) WHEN 0 THEN 'false' WHEN 1 THEN 'true' END", f"({own} + 0)"
            )
    # Without the zeros that a column may be filled with, and a bit as a number.
    number = f"({own} + 0)"
    return Travel(number, "", f"CAST({number} AS CHAR)", number)


def _text(value: str) -> Travel:
    text = f"CONVERT({value} USING utf8mb4)"
    # The server takes half a surrogate for a character, which Unicode does not have; UTF-16 cannot hold it.
    unfit = f"BINARY CONVERT(CONVERT({text} USING utf16) USING utf8mb4) <> BINARY {text}"
    return Travel(value, unfit, f"CONCAT(CHAR_LENGTH({text}), ':', {text})", f"SHA2({value}, 256)")


def _moment(own: str, kind: str) -> Travel:
    # No month and no day of a zero date is one, and a server may be configured to take the 31st of February.
    unfit = f"({own} IS NOT NULL AND (YEAR({own}) = 0 OR LAST_DAY({own}) IS NULL OR DAYOFMONTH({own}) = 0 OR DAYOFMONTH({own}) > DAYOFMONTH(LAST_DAY({own}))))"
    canonical = (
        f"CAST(TO_DAYS({own}) - {_EPOCH_DAY} AS CHAR)"
        if kind == "date"
        else f"CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', {own}) AS CHAR)"
    )
    return Travel(own, unfit, canonical, f"CAST({own} AS CHAR)")


def _name(declared: str) -> str:
    return re.split(r"[\s(]", declared.lower(), maxsplit=1)[0]
