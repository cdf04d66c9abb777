"""The number of the transaction that wrote a row, as 64 bits: a row carries the lower 32, and the snapshot says which circle it is in.

A row that a snapshot shows was written by a transaction below the snapshot's end. So its number is at most the largest one below that end
which has these 32 bits: the one that is shown. For a row of the last 2^32 transactions both are the same. An older one, which has been frozen
(its 32 bits stay readable), is shown later than it was written, and never earlier: a window that is open above misses none. When the snapshot's end passes
these bits once more, such a row is read again, and the copy has the number that the source now shows.
"""

from __future__ import annotations

from incremental_assets.core.model.column import Column, Fidelity

NUMBERING = Column(
    "xmin",
    "xid8",
    "bigint",
    Fidelity.EXACT,
    nullable=False,
    comment="The transaction that wrote the row, as the source numbers it",
)
"""No column of a table can have the name of a system column; of a view it can, and that has an identity."""

CIRCLE = 2**32
"""Rows carry the lower half of a transaction's number."""
FIRST_NORMAL = 3
"""The first usual number: below it are numbers with a meaning of their own, of initdb, and of rows that were frozen before PostgreSQL 9.4."""

OVER = "SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)"
"""The number below which every transaction of the server is over."""
NEXT = "(SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint))"
"""The end of the snapshot, asked once for all rows."""


def is_numbering(column: Column) -> bool:
    """Whether a column is none of the table's own."""
    return (column.name, column.identity) == (NUMBERING.name, NUMBERING.identity)


def numbered(alias: str) -> str:
    """The number of a row's transaction, of type bigint."""
    return wide(f"CAST(CAST({alias}.xmin AS text) AS bigint)", f"({NEXT} - 1)")


def wide(low: str, last: str) -> str:
    """The largest number up to `last` whose lower 32 bits are `low`."""
    behind = f"(({last} - {low}) % {CIRCLE} + {CIRCLE}) % {CIRCLE}"
    return f"CASE WHEN {low} < {FIRST_NORMAL} THEN {low} ELSE {last} - {behind} END"
