"""SQL for the places of a table's rows on the line of `core.model.key_parts`, and for some of its parts without the others."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.databases.measure import placed_by_value
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.rows.measure import Hashed, row_hash
from incremental_assets.adapters.databases.postgresql.sql import Values, column, column_of
from incremental_assets.adapters.databases.postgresql.types import holdable
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec


def place(spec: TableSpec, hashed: Hashed = row_hash) -> str:
    """The place of a row's key: its value where it is one whole number, else its hash; of a row without a key the hash of the row."""
    if placed_by_value(spec):
        return column(spec.key[0])
    columns = [column_of(spec, name) for name in spec.key] or spec.columns
    return holdable(columns, hashed(columns))


def placed(spec: TableSpec, hashed: Hashed = row_hash) -> str:
    """The same as a column of `rows_within`, wide enough to be shifted by as many bits as there are."""
    return f"CAST({place(spec, hashed)} AS bigint) AS placed"


def keys_within(spec: TableSpec, selected: str, within: KeyParts, values: Values, hashed: Hashed) -> str:
    """The same as `rows_within`, for every row, where a key that has no value of its own lies at this hash."""
    if placed_by_value(spec):
        return rows_within(spec, selected, within, values)
    return _at_hashes(f"SELECT {selected} {read_from(spec, 'TRUE')}", place(spec, hashed), within, values)


def rows_within(spec: TableSpec, selected: str, within: KeyParts, values: Values, rows: str = "TRUE") -> str:
    """What stands behind FROM: what is selected of those of some rows that lie `within`, under the name `found`."""
    own, each = place(spec), f"SELECT {selected} {read_from(spec, rows)}"
    if not placed_by_value(spec):
        return _at_hashes(each, own, within, values)
    if len(within.ranges) == 1:
        low, high = (values(str(end), "bigint") for end in within.ranges[0])
        return f"({each} AND {own} BETWEEN {low} AND {high}) AS found"
    low, high = _ends(within, values)
    # From range to range by the index. In a join the planner takes each range for a ninth of the table, and may put all of them to every row.
    ranges = f"unnest({low}, {high}) AS r(low, high)"
    return f"{ranges} CROSS JOIN LATERAL ({each} AND {own} BETWEEN r.low AND r.high OFFSET 0) AS found"


def _at_hashes(each: str, own: str, within: KeyParts, values: Values) -> str:
    inside = ""
    if within.numbers is not None:
        low, high = _ends(within, values)
        inside = f" AND {own} <= ({high})[width_bucket({own}, {low})]"
    # What is selected is computed here, once, and not wherever it is used.
    return f"({each}{inside} OFFSET 0) AS found"


def _ends(within: KeyParts, values: Values) -> tuple[str, str]:
    lows, highs = zip(*within.ranges, strict=True) if within.ranges else ((), ())
    return numbers(lows, values), numbers(highs, values)


def numbers(found: Sequence[int], values: Values) -> str:
    """SQL for an array of them."""
    return values("{" + ",".join(map(str, found)) + "}", "bigint[]")


def by_index(asked: Asked) -> None:
    """Let the planner see, until the transaction ends, what keys cost that are read in their order, and count parts without sorting them."""
    # The leaves of an index are read one after the other, and are taken for pages at random: a scan of a narrow table seems to cost less than its index.
    asked.execute(
        "SELECT set_config('random_page_cost', current_setting('seq_page_cost'), true), set_config('enable_sort', 'off', true)"
    )
