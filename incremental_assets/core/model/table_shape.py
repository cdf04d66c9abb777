"""What the catalogue says of one table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.definition import Fact
from incremental_assets.core.model.table_id import TableId

_FEW_ROWS, _FEW_BYTES = 10_000, 8 * 2**20
"""A table below both sizes is read whole in a moment, and is then right whatever its columns tell."""


def is_small(rows: int, size: int) -> bool:
    """Whether a table of so many rows and bytes is read in a moment, with an index or without one."""
    return rows < _FEW_ROWS and size < _FEW_BYTES


class Arrival(StrEnum):
    """How rows of a table may become visible apart from the transaction that stamped them."""

    SUBSCRIPTION = "subscription"
    FOREIGN = "foreign"
    MATERIALIZED = "materialized"
    VIEW = "view"
    UNTRACKED = "untracked"


@dataclass(frozen=True, slots=True)
class RoleZone:
    """Sessions that may write a table and begin in another time zone than the database's: those of a role, or of whoever the server has run something first."""

    who: str
    zone: str


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the catalogue says of one table. `rows` and `bytes` are the database's estimates."""

    id: TableId
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    """Other keys that the source enforces for every row: not partial, not deferrable, no column nullable."""
    indexed_keys: tuple[tuple[Column, ...], ...] = ()
    """The columns of each enforced key whose index does not compare as they do, each as the index compares it."""
    own_key: tuple[str, ...] = ()
    """The declared primary key where it is none of all rows: others inherit from the table, whose rows are shown too and may repeat it, or it may hold NULL."""
    comment: str = ""
    rows: int = 0
    bytes: int = 0
    splits: bool = False
    """Whether a first load may read it in ranges of its physical blocks (a plain table, not a view or a foreign table)."""
    pages: int = 0
    """Physical blocks, where it splits."""
    row_versions: bool = False
    """Whether each row shows a version of its own, which changes with every write (PostgreSQL: ctid and xmin)."""
    filtered: bool = False
    """Whether the source may hide rows from this user (row-level security)."""
    arrivals: tuple[Arrival, ...] = ()
    zones: tuple[RoleZone, ...] = ()
    logged: bool = True
    """Whether its rows outlive a crash (PostgreSQL: not where it, or a partition or child of it, is UNLOGGED)."""
    readable: bool = True
    """Whether this user may read it; of one that it may not, nothing but the name is known."""
    undescribed: str = ""
    """Why the source could not tell what columns it has, with the cure; empty where it could. Nothing but the name is known then."""
    updates: int | None = None
    """Rows that were updated since the source's statistics began; None where it does not count them."""
    left_out: tuple[str, ...] = ()
    """Columns of the source that are not read, and do not count."""
    numbering: Column | None = None
    """The number of the transaction that wrote a row: what the source can show beside its columns, or one of them; None where it shows none."""
    facts: tuple[Fact, ...] | None = None
    """What the catalogue says of how its rows are stored and shown; None where the database was not asked."""
    by_itself: bool = False
    """Whether its rows are its own alone, as each change of one has its name, of a database that reads no table in ranges of blocks."""

    @property
    def is_partitioned(self) -> bool:
        """Whether its rows lie in partitions, each of which is a table of its own (PostgreSQL)."""
        return self.row_versions and not self.splits

    def without(self, names: Collection[str]) -> TableShape:
        """The table as if it had none of these columns."""
        unread = tuple(name for name in self.names if name in names)
        columns = tuple(column for column in self.columns if column.name not in names)
        return replace(self, columns=columns, left_out=(*self.left_out, *unread)) if unread else self

    def replacing(self, columns: Mapping[str, Column]) -> TableShape:
        """The table with other columns in the place of those of these names."""
        return replace(self, columns=tuple(columns.get(each.name, each) for each in self.columns))

    def compared(self, key: Collection[str]) -> tuple[Column, ...]:
        """The columns of a key, each as whatever enforces the key compares it."""
        own = {
            column.name: column
            for columns in self.indexed_keys
            if {each.name for each in columns} == set(key)
            for column in columns
        }
        return tuple(own.get(column.name, column) for column in self.columns if column.name in key)

    def numbered(self) -> TableShape:
        """The table with the number of each row's transaction as its last column, where the source can show it."""
        if self.numbering is None or self.numbering in self.columns:
            return self
        return replace(self, columns=(*self.columns, self.numbering))

    def read_as(self, types: Mapping[str, str]) -> TableShape:
        """The table with some columns read by another Spark type that their values may have; others stay as they are."""
        columns = tuple(
            replace(each, spark_type=types[each.name], fidelity=Fidelity.EXACT, readings=())
            if types.get(each.name) in each.readings
            else each
            for each in self.columns
        )
        return replace(self, columns=columns) if columns != self.columns else self

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in the table's order."""
        return tuple(column.name for column in self.columns)
