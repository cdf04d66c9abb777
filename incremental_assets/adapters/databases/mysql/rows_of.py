"""All rows of an answer, as many as the server counts, in one view; and hashes of rows that it can make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.databases.condition import Condition
from incremental_assets.adapters.databases.mysql.connect import Connection
from incremental_assets.adapters.databases.mysql.sql import chosen, relation
from incremental_assets.adapters.databases.whole import check_whole
from incremental_assets.core.errors import SourceRefused
from incremental_assets.core.model.table import TableSpec

TOO_LONG = 10**40
"""In a sum of hashes, what stands for a row whose text the server cannot make: more than all the hashes of a table."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Some columns of the rows that fulfil a condition."""

    spec: TableSpec
    columns: Condition
    rows: Condition

    @property
    def sql(self) -> str:
        """A whole SELECT."""
        return f"SELECT {self.columns.sql} {self._source}"

    @property
    def values(self) -> tuple[str | int, ...]:
        """Those of its placeholders."""
        return (*self.columns.values, *self.rows.values)

    def counted(self, connection: Connection) -> int:
        """How many rows there are, by the server's own count."""
        (count,) = connection.row(f"SELECT COUNT(*) {self._source}", self.rows.values)
        return int(count)

    @property
    def _source(self) -> str:
        return f"FROM {relation(self.spec.id)} WHERE {self.rows.sql}"


def all_rows(connection: Connection, selection: Selection) -> list[tuple[Any, ...]]:
    """All of them, asked in a snapshot. Raises SourceRefused where other ones came than there are."""
    found = connection.rows(selection.sql, selection.values)
    check_whole(selection.spec.shape, len(found), lambda: selection.counted(connection))
    return found


def select(spec: TableSpec, columns: str, rows: Condition) -> Selection:
    """Columns without placeholders, of those of the rows that the configuration chooses."""
    return Selection(spec, Condition(columns), chosen(spec, rows))


def summed_hashes(sql: str) -> str:
    """SQL for the sum of a hash, in which one that cannot be made counts as `TOO_LONG`."""
    return f"COALESCE(SUM(COALESCE({sql}, {TOO_LONG})), 0)"


def checked_sum(connection: Connection, spec: TableSpec, total: str) -> str:
    """Such a sum, as a text. Raises SourceRefused where one of the hashes could not be made."""
    if int(total) >= TOO_LONG:
        raise _too_long(connection, spec)
    return total


def checked(connection: Connection, spec: TableSpec, texts: Iterable[Any]) -> Iterator[str]:
    """Texts and hashes of rows, none of which is missing. Raises SourceRefused where one could not be made."""
    for text in texts:
        if text is None:
            raise _too_long(connection, spec)
        yield str(text)


def _too_long(connection: Connection, spec: TableSpec) -> SourceRefused:
    (allowed,) = connection.row("SELECT @@max_allowed_packet")
    return SourceRefused(
        f"{spec.id}: a row is longer than the server's `max_allowed_packet`, {int(allowed):,} bytes, so that it cannot be compared there; "
        f"SET GLOBAL max_allowed_packet to more than the row has as text, at most {1 << 30:,}"
    )
