"""A statement that a binlog has as its text, in the charset of the session that has run it."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass

from incremental_assets.adapters.logs.mysql.octets import Octets
from incremental_assets.adapters.logs.mysql.row_values import latin1

_CHARSET = 4
_SIZES = {0: 4, 1: 8, 3: 4}
_CATALOG, _CATALOG_OF_OLD, _ZONE = 6, 2, 5
"""What an event says of its session before its text, each behind its number; these have a length of their own."""
_CODECS: Mapping[str, str] = {
    **dict.fromkeys(("", "ascii", "binary", "utf8", "utf8mb3", "utf8mb4"), "utf-8"),
    **{
        name: name
        for name in (
            "cp1250",
            "cp1251",
            "cp1256",
            "cp1257",
            "cp850",
            "cp852",
            "cp866",
            "cp932",
            "gb2312",
            "gbk",
            "gb18030",
            "big5",
        )
    },
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "tis620": "tis-620",
    "sjis": "cp932",
    "ujis": "euc-jp",
    "eucjpms": "euc-jp",
    "euckr": "cp949",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """`schema`: in which it was run; `is_legible`: whether all of its characters are known."""

    schema: str
    text: str
    is_legible: bool


def statement_of(body: bytes, collations: Mapping[int, str]) -> Statement:
    """From the body of an event; `collations`: the charset of each."""
    octets = Octets(body)
    octets.skip(8)
    size = octets.number(1)
    octets.skip(2)
    told = Octets(octets.bytes(octets.number(2)))
    schema = octets.bytes(size).decode("utf-8", "replace")
    octets.skip(1)
    text, is_legible = _decoded(octets.bytes(octets.left), _charset(told, collations))
    return Statement(schema, text, is_legible)


def _charset(told: Octets, collations: Mapping[int, str]) -> str:
    """Empty where it is not said."""
    while told.left:
        number = told.number(1)
        if number == _CHARSET:
            return collations.get(told.number(2), "unknown")
        if number in _SIZES:
            told.skip(_SIZES[number])
        elif number in (_CATALOG, _ZONE, _CATALOG_OF_OLD):
            told.skip(told.number(1) + (number == _CATALOG_OF_OLD))
        else:
            break
    return ""


def _decoded(text: bytes, charset: str) -> tuple[str, bool]:
    if text.isascii():
        return text.decode("ascii"), True
    if charset == "latin1":
        return latin1(text), True
    try:
        return codecs.decode(text, _CODECS.get(charset, "")), True
    except (LookupError, ValueError):
        return text.decode("ascii", "replace"), False
