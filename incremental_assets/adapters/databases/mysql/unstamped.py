"""What writes rows of a table and stamps none of them, whatever its defaults and triggers say: foreign keys that change rows, and rows that are cut in two.

InnoDB itself changes the rows that refer to another one: no trigger runs, and no `ON UPDATE`. `FOR PORTION OF` adds what is left of a row with the stamp that it had.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pymysql

from incremental_assets.adapters.databases.mysql.connect import Connection, Text
from incremental_assets.adapters.databases.mysql.sql import identifier
from incremental_assets.adapters.databases.mysql.stored_names import Name, owners

FOREIGN_KEY, CHECK = "FOREIGN KEY", "CHECK"
"""The kinds under which `flavour.py` lists them."""
_ONE_BELOW_OTHER = re.compile(r"(`(?:[^`]|``)+`) < (`(?:[^`]|``)+`)")
"""What the server says of a period: no catalogue of ours has its name, but for the definition of the table."""


@dataclass(frozen=True, slots=True)
class Unstamped:
    """Why nothing stamps some inserts, and some updates, of a table; empty where nothing shows such."""

    inserts: str = ""
    updates: str = ""


NONE = Unstamped()


def unstamped(
    connection: Connection, listed: Iterable[Sequence[Text]], tables: Iterable[Name]
) -> Mapping[Name, Unstamped]:
    """By table, as far as this user is shown its foreign keys."""
    names = set(tables)
    found: dict[Name, Unstamped] = defaultdict(Unstamped)
    for schema, table, kind, name, text, *_ in listed:
        if kind == CHECK and (schema, table) in names and (ends := _ONE_BELOW_OTHER.fullmatch(text or "")):
            found[schema, table] = _cut(connection, (schema, table), ends, str(name), found[schema, table])
        if kind == FOREIGN_KEY:
            for owner in [(schema, table)] if schema else owners(table, names):
                found[owner] = Unstamped(found[owner].inserts, _changed(str(name).rpartition("/")[2]))
    return found


def _changed(foreign_key: str) -> str:
    return f"the foreign key {foreign_key} changes its rows when the row that they refer to is changed or deleted, which nothing stamps"


def _cut(connection: Connection, table: Name, ends: re.Match[str], name: str, before: Unstamped) -> Unstamped:
    relation = ".".join(identifier(str(part)) for part in table)
    try:
        ((_, made, *_),) = connection.rows(f"SHOW CREATE TABLE {relation}")
    except pymysql.OperationalError:
        made = None
    if made is not None and f"({ends[1]}, {ends[2]})" not in made.partition("PERIOD FOR ")[2]:
        return before
    return Unstamped(
        f"`FOR PORTION OF {name}` adds rows to it that have the stamp of the row of which they are left", before.updates
    )
