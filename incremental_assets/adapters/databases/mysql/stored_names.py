"""Names of tables as InnoDB writes them into its own lists: `schema/table`, with letters that a file's name may not have in ways of its own."""

from __future__ import annotations

import re
from collections.abc import Collection

from incremental_assets.adapters.databases.mysql.connect import Text

Name = tuple[Text, Text]

_ESCAPED = re.compile(r"@([0-9a-f]{4})")
_PARTITION = re.compile(r"#p#", re.IGNORECASE)


def owners(stored: Text, tables: Collection[Name]) -> list[Name]:
    """Those of the tables that may be meant."""
    schema, _, rest = str(stored).partition("/")
    name = (_plain(schema), _plain(_PARTITION.split(rest, maxsplit=1)[0]))
    if name in tables:
        return [name]
    # Letters that InnoDB writes in ways of its own may be those of any table that has such.
    return [each for each in tables if not "".join(map(str, each)).isascii()] if "@" in "".join(name) else []


def _plain(stored: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), stored)
