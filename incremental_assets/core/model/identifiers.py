"""Names as in SQL: plain, or in double quotes with quotes doubled. An unquoted name keeps its spelling; nothing is folded."""

from __future__ import annotations

import re
from dataclasses import dataclass

_QUOTED = re.compile(r'"((?:[^"]|"")+)"')
_PLAIN = re.compile(r'[^".:\x00]+')
_NEEDS_QUOTES = re.compile(r'[".:]|^\s|\s$')

EXPECTED = 'write schema.table, with a name that holds a dot, a colon or a quote as in SQL: public."a.b"'


@dataclass(frozen=True, slots=True)
class Scanned:
    """One name read from a longer text, and where it ends in it."""

    name: str
    end: int


def scan_name(text: str, start: int) -> Scanned:
    """The name that begins at `start`; ValueError if there is none."""
    quoted = _QUOTED.match(text, start)
    if quoted is not None:
        return Scanned(quoted[1].replace('""', '"'), quoted.end())
    plain = _PLAIN.match(text, start)
    if plain is None or not plain[0].strip():
        raise ValueError(EXPECTED)
    return Scanned(plain[0].strip(), plain.end())


def parse_table(text: str) -> tuple[str, str]:
    """`public."a.b"` -> (`public`, `a.b`); ValueError says how a table is written."""
    schema, name, end = scan_table(text)
    if end != len(text):
        raise ValueError(EXPECTED)
    return schema, name


def scan_table(text: str) -> tuple[str, str, int]:
    """Schema and table at the head of `text`, and where they end."""
    schema = scan_name(text, 0)
    if text[schema.end : schema.end + 1] != ".":
        raise ValueError(EXPECTED)
    table = scan_name(text, schema.end + 1)
    return schema.name, table.name, table.end


def quote(name: str) -> str:
    """The name as it must be written: quoted only where it has to be."""
    return f'"{name.replace(chr(34), chr(34) * 2)}"' if _NEEDS_QUOTES.search(name) else name


def render_table(schema: str, name: str) -> str:
    """The inverse of `parse_table`."""
    return f"{quote(schema)}.{quote(name)}"
