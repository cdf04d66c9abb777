"""A glob over tables: those of which each is copied on the same terms. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from incremental_assets.core.model.table_id import TableId

_PART = re.compile(r"[^\s\"'`./]+")
_GLOB = re.compile(r"[*?\[]")


def is_glob(text: str) -> bool:
    """Whether it may stand for several names."""
    return _GLOB.search(text) is not None


@dataclass(frozen=True, slots=True)
class TableMatch:
    """`tenant_*.orders`: globs over the schema's name and the table's."""

    schema: str
    name: str

    @classmethod
    def parse(cls, text: str) -> TableMatch:
        """ValueError says how one is written."""
        schema, dot, name = text.strip().partition(".")
        if not dot or not _PART.fullmatch(schema) or not _PART.fullmatch(name):
            raise ValueError(
                "write globs over schema and table like tenant_*.orders or sales.2024_*, without quotes; list a table whose name has a dot, a quote or a blank in it"
            )
        if not is_glob(text):
            raise ValueError(
                f"this is the name of one table; write `table: {text.strip()}`, or a glob with *, ? or [a-z] in it"
            )
        return cls(schema, name)

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"

    def stands_for(self, table: TableId) -> bool:
        """Whether it is one of them."""
        return fnmatchcase(table.schema, self.schema) and fnmatchcase(table.name, self.name)
