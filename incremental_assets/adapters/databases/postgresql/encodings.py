"""Databases whose texts need not be UTF-8: in SQL_ASCII any bytes are a text, and some code pages have bytes that no character was given to.

The server would refuse to send such a text, and with it the whole answer. So each is looked for first, by a regular expression, which takes a text of
these databases byte by byte.
"""

from __future__ import annotations

import re

from incremental_assets.adapters.databases.postgresql.sql import literal

ANY_BYTES = "SQL_ASCII"
_WITHOUT_CHARACTER = {
    "WIN874": "81828384868788898a8b8c8d8e8f9098999a9b9c9d9e9fdbdcdddefcfdfeff",
    "WIN1250": "8183889098",
    "WIN1251": "98",
    "WIN1252": "818d8f909d",
    "WIN1253": "81888a8c8d8e8f90989a9c9d9e9faad2ff",
    "WIN1254": "818d8e8f909d9e",
    "WIN1255": "818a8c8d8e8f909a9c9d9e9fcad9dadbdcdddedffbfcff",
    "WIN1257": "8183888a8c90989a9c9fa1a5",
    "WIN1258": "818a8d8e8f909a9d9e",
    "LATIN3": "a5aebec3d0e3f0",
    "ISO_8859_6": "a1a2a3a5a6a7a8a9aaabaeafb0b1b2b3b4b5b6b7b8b9babcbdbec0dbdcdddedff3f4f5f6f7f8f9fafbfcfdfeff",
    "ISO_8859_7": "aed2ff",
    "ISO_8859_8": "a1bfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddefbfcff",
}
"""The bytes of each that PostgreSQL converts to nothing. An encoding of several bytes is checked when a text is written."""

_CODECS = {
    ANY_BYTES: "utf-8",
    "WIN874": "cp874",
    "LATIN3": "iso8859_3",
    **{f"ISO_8859_{number}": f"iso8859_{number}" for number in (6, 7, 8)},
    **{f"WIN{number}": f"cp{number}" for number in (1250, 1251, 1252, 1253, 1254, 1255, 1257, 1258)},
}
"""What Python calls those of these encodings, which it reads byte by byte as PostgreSQL does."""

_MORE = "[\\u0080-\\u00BF]"
_UTF8 = (
    "^(?:[\\u0001-\\u007F]"
    f"|[\\u00C2-\\u00DF]{_MORE}"
    f"|\\u00E0[\\u00A0-\\u00BF]{_MORE}|[\\u00E1-\\u00EC\\u00EE\\u00EF]{_MORE}{{2}}|\\u00ED[\\u0080-\\u009F]{_MORE}"
    f"|\\u00F0[\\u0090-\\u00BF]{_MORE}{{2}}|[\\u00F1-\\u00F3]{_MORE}{{3}}|\\u00F4[\\u0080-\\u008F]{_MORE}{{2}})*$"
)
_BEYOND_ASCII = "[\\u0080-\\u00FF]"
_ASCII_ALONE = re.compile(r"uuid|interval.*|inet|cidr|macaddr8?|bit.*|time .*|time\(.*|oid|xid8?|tid|pg_lsn|numeric.*")
"""Types whose texts have no other characters, whatever the value."""


def may_be_other(encoding: str, source_type: str) -> bool:
    """Whether a text of this type may be no UTF-8 in a database of this encoding."""
    in_question = encoding == ANY_BYTES or encoding in _WITHOUT_CHARACTER
    return in_question and _ASCII_ALONE.fullmatch(source_type) is None


def codec_of(encoding: str) -> str:
    """By which Python reads the texts of such a database; empty for one whose texts the server converts, each of them."""
    return _CODECS.get(encoding, "")


def not_utf8(encoding: str, text: str) -> str:
    """The condition that a text cannot be sent as UTF-8; NULL is none."""
    text = f'({text}) COLLATE "C"'
    if encoding == ANY_BYTES:
        # The quicker question first.
        return f"({text} ~ {literal(_BEYOND_ASCII)} AND {text} !~ {literal(_UTF8)})"
    found = "".join(f"\\u00{each:02X}" for each in bytes.fromhex(_WITHOUT_CHARACTER[encoding]))
    return f"({text} ~ {literal(f'[{found}]')})"


def legible(text: str) -> str:
    """A text of the catalogue, in a database of any encoding; one that is no UTF-8 as its bytes."""
    bad = not_utf8(ANY_BYTES, text)
    return f"CASE WHEN getdatabaseencoding() = '{ANY_BYTES}' AND {bad} THEN {as_bytes(ANY_BYTES, text)} ELSE {text} END"


def shown(name: str) -> str:
    """A name for people, whatever its bytes are: those of roles are of the whole server, whose databases may have different encodings."""
    return f"CAST({legible(f'CAST({name} AS text)')} AS name)"


def is_legible(name: str) -> str:
    """The condition that a name can be read, and said again."""
    return f"(getdatabaseencoding() <> '{ANY_BYTES}' OR NOT {not_utf8(ANY_BYTES, f'CAST({name} AS text)')})"


def as_bytes(encoding: str, text: str) -> str:
    """A text as its bytes, for people."""
    return f"'x''' || encode(convert_to({text}, '{encoding}'), 'hex') || ''''"


def characters(encoding: str, text: str) -> str:
    """The number of characters of a text that is UTF-8."""
    return f"length(convert_to({text}, '{encoding}'), 'UTF8')" if encoding == ANY_BYTES else f"length({text})"
