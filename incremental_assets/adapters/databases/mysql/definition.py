"""What the server says of how the rows of a table are stored and shown: a time, InnoDB's numbers, expressions and types of columns.

A server has no number for a column, and of a whole table one time that every `ALTER TABLE` moves: some alter no row, and nothing tells which.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from incremental_assets.adapters.databases.mysql.connect import Text
from incremental_assets.adapters.databases.mysql.stored_names import Name, owners
from incremental_assets.core.model.definition import COLUMN, Fact

# The time is cut to its second, in which there may be another change after it was read.
MADE = "CONCAT(create_time, IF(create_time >= NOW() - INTERVAL 1 SECOND, ' or later', ''))"
VIEWS = """
UNION ALL
SELECT table_schema, table_name, 'DEFINITION', security_type, view_definition, '', '', '' FROM information_schema.views WHERE table_schema IN ({})
"""
FILES = "UNION ALL SELECT '', name, 'FILE', '', '', '', '', table_id FROM information_schema.{}"
"""Asked with the privilege PROCESS alone: partitions are exchanged and emptied under the time that their table had."""
KINDS = ("BASE TABLE", "SYSTEM VERSIONED", "VIEW")
"""What of a list is a table."""
_VIEW, _FILE = "DEFINITION", "FILE"
_QUOTED = re.compile(r"'(?:[^'\\]|''|\\.)*'|`(?:[^`]|``)*`", re.DOTALL)
"""A text or a name in an expression."""
_WRITTEN_TWICE = re.compile(r"[^']*\\'")
"""How an expression begins in which MySQL has put a backslash before each quote and each backslash."""
_OF_THE_MOMENT = re.compile(
    r"@|\b(?:current_timestamp|now|localtime|localtimestamp|sysdate|curdate|current_date|curtime|current_time|utc_timestamp|utc_date|utc_time"
    r"|rand|random_bytes|uuid\w*|sys_guid|encrypt|user|current_user|session_user|system_user|current_role|database|schema|connection_id|version|last_insert_id"
    r"|wsrep_last_\w+)\b|\bunix_timestamp\(\)"
)
"""What the servers let a column be computed from that is none of its row, as they print it."""
_OFFSET = re.compile(r"'[+-]\d{1,2}:\d{2}'")


def facts(
    listed: Iterable[Sequence[Text]], columns: Mapping[Name, Sequence[Sequence[Text]]]
) -> dict[Name, tuple[Fact, ...]]:
    """Of each table or view of a list that may be followed by the definitions of views and InnoDB's numbers."""
    tables = {(row[0], row[1]): row for row in listed if row[2] in KINDS}
    views = {(row[0], row[1]): (_view(row),) for row in listed if row[2] == _VIEW}
    files = _files(listed, tables)
    return {
        name: (*_made(row), *views.get(name, ()), *files.get(name, ()), *map(_column, columns.get(name, ())))
        for name, row in tables.items()
    }


def _made(row: Sequence[Text]) -> tuple[Fact, ...]:
    """The time at which it was made, or altered last."""
    kind, made = row[2], row[-1]
    means = "its definition was altered, or it was made anew or renamed"
    return () if kind == "VIEW" else (Fact("made", tuple(str(made or "").split(" or ")), means),)


def _view(row: Sequence[Text]) -> Fact:
    """Without a text where the user may not see it."""
    _, _, _, safety, text, *_ = row
    return Fact("view", (f"{safety} {text}",), "the view is defined anew")


def _files(listed: Iterable[Sequence[Text]], tables: Mapping[Name, object]) -> Mapping[Name, list[Fact]]:
    """InnoDB's number of each table or partition, which one that is made anew does not keep."""
    found: dict[Name, list[Fact]] = defaultdict(list)
    for _, stored, kind, *_, number in listed:
        if kind != _FILE:
            continue
        rest = str(stored).partition("/")[2]
        means = "it, or a part of it, was rewritten, emptied or exchanged"
        for owner in owners(stored, tables):
            found[owner].append(Fact(f"file {rest}", (str(number),), means))
    return found


def _column(declared: Sequence[Text]) -> Fact:
    """By its name: its type with the labels of an enum, its place among the columns, and what it is computed from."""
    name, kind, *_, place, expression = declared
    values = (str(place), str(kind), str(expression or ""))
    return Fact(f"{COLUMN}{str(name).lower()}", values, f"what {name!r} shows is defined anew")


def shown_by(extra: str, expression: str) -> str:
    """What decides beside the row how a column shows that is computed when it is read, as the end of a sentence; empty where nothing does."""
    if "VIRTUAL" not in extra.upper():
        return ""
    text = re.sub(r"\\(.)", r"\1", expression) if _WRITTEN_TWICE.match(expression) else expression
    plain = _QUOTED.sub(" ", text).lower()
    found = _OF_THE_MOMENT.search(plain)
    if found is not None:
        return f"it is computed when it is read, from {found[0]} among other things"
    if "convert_tz" in plain and len(_OFFSET.findall(text)) < 2 * plain.count("convert_tz"):
        return "it is computed when it is read, in a time zone that the server's tables describe"
    return ""
