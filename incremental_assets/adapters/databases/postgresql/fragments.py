"""SQL that several questions to PostgreSQL share: of its catalogue, and of the rows that were written last."""

from __future__ import annotations

from incremental_assets.adapters.databases.postgresql.sql import relation
from incremental_assets.core.model.table_id import TableId

BEGINS_WITH = "i.indkey[0] = a.attnum AND i.indisvalid AND i.indpred IS NULL"
"""Whether the index `i` of all rows begins with the column `a`."""
GIVES_NEXT = "pg_get_expr(e.adbin, e.adrelid) ~* '(now[(]|(current_|local|clock_|statement_|transaction_)timestamp|current_date|nextval[(])'"
"""Whether the default `e` is the time or the next number."""

_BLOCKS, _ROWS = 64, 1_000
"""Of each table half a megabyte is looked at, and so many rows of it."""


def last_rows(table: TableId, pages: int, read: str, condition: str = "true") -> str:
    """The SELECT of up to 1,000 rows in the last 64 of a table's blocks, the last row first; `pages`: how many blocks the table has."""
    first = max(0, pages - _BLOCKS)
    return f"SELECT {read} FROM ONLY {relation(table)} WHERE t.ctid >= '({first},0)'::tid AND {condition} ORDER BY t.ctid DESC LIMIT {_ROWS}"
