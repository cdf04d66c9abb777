"""Counts and hashes of windows, computed by PostgreSQL in the format of adapters/databases/measure.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from incremental_assets.adapters.databases.measure import NULL, SEPARATOR
from incremental_assets.adapters.databases.postgresql.asked import Asked
from incremental_assets.adapters.databases.postgresql.encodings import characters
from incremental_assets.adapters.databases.postgresql.read_from import read_from
from incremental_assets.adapters.databases.postgresql.sql import (
    Parameters,
    Values,
    column,
    column_of,
    cursor_value,
    effective,
    inline,
    inside,
    value_of,
)
from incremental_assets.adapters.databases.postgresql.types import as_days, as_micros, as_text, holdable, unholdable
from incremental_assets.adapters.spark.own_names import KEY
from incremental_assets.core.model.column import Column
from incremental_assets.core.model.measure import Measure, RowHash
from incremental_assets.core.model.table import NullPolicy, TableSpec, cursor_of
from incremental_assets.core.model.window import Window, disjoint, merge

Hashed = Callable[[Sequence[Column]], str]
"""SQL for the hash of some columns of a row."""


def measure(
    asked: Asked, spec: TableSpec, windows: Sequence[Window], hashed: Hashed, by: RowHash
) -> tuple[Measure, ...]:
    """One measure per window, all in one scan of one snapshot."""
    if not windows:
        return ()
    values = Parameters()
    sql = measure_sql(spec, windows, values, hashed)
    # The planner takes each cursor for a window of its own, and would sort all rows, whole, by their window.
    with asked.beside(enable_sort="off"):
        rows = asked.execute(sql, values.values or None).fetchall()
    found = {number: (count, digest) for number, count, digest in rows}
    return tuple(Measure(window, *found.get(index, (0, "0")), by) for index, window in enumerate(windows))


def measure_sql(spec: TableSpec, windows: Sequence[Window], values: Values, hashed: Hashed) -> str:
    """The SQL for the number, the rows and the sum of hashes, as text, of each window that has rows."""
    if not disjoint(windows):
        one_by_one = (
            measure_sql(spec, (window,), values, hashed).replace("SELECT 0", f"SELECT {number}", 1)
            for number, window in enumerate(windows)
        )
        return "\nUNION ALL\n".join(one_by_one)
    number = "0" if len(windows) == 1 else "m.number"
    numbered = f"{window_number(spec, windows, values)} AS number, " if len(windows) > 1 else ""
    return (
        f"SELECT {number}, count(*), CAST(sum(m.hash) AS text) FROM (SELECT {numbered}{hashed(spec.columns)} AS hash "
        f"{read_from(spec, comparable(spec, windows, values))}) AS m GROUP BY 1"
    )


def unholdable_keys_sql(spec: TableSpec, windows: Sequence[Window]) -> str:
    """The SQL by which Spark's reader gets the key of every row of the windows that cannot land; empty where none can be such."""
    rejected = _rejected(spec)
    if not rejected or not spec.key:
        return ""
    columns = [column_of(spec, name) for name in spec.key]
    key = holdable(columns, key_text(columns))
    inside_any = " OR ".join(_inside(spec, window, inline) for window in merge(windows))
    return f"SELECT {key} AS {KEY} {read_from(spec, f'({inside_any}) AND ({rejected})')}"


def row_hash(columns: Sequence[Column]) -> str:
    """A row's hash as a bigint of 60 bits."""
    return f"CAST(CAST('x' || substr(md5(convert_to({row_text(columns)}, 'UTF8')), 1, 15) AS bit(60)) AS bigint)"


def row_text(columns: Sequence[Column]) -> str:
    """The canonical text of some columns of a row."""
    # An array, as a function takes a hundred arguments and a table may have 1,600 columns.
    return f"array_to_string(ARRAY[{', '.join(_canonical(each) for each in columns)}]::text[], '{SEPARATOR}', '{NULL}')"


def key_text(columns: Sequence[Column]) -> str:
    """A key as people read it: a key of one text is that text."""
    if len(columns) == 1 and columns[0].spark_type == "string":
        return f"coalesce({as_text(columns[0], column(columns[0].name))}, '{NULL}')"
    return row_text(columns)


def comparable(spec: TableSpec, windows: Sequence[Window], values: Values) -> str:
    """Rows of the windows that could have landed. One without a cursor lies in no window but the one that is open on both sides."""
    rejected = _rejected(spec)
    unfit = [f"({condition}) IS NOT TRUE" for condition in (rejected, marked(spec, values)) if condition]
    inside_any = " OR ".join(_inside(spec, window, values) for window in merge(windows))
    return " AND ".join([f"({inside_any})", *unfit])


def marked(spec: TableSpec, values: Values) -> str:
    """The condition that the source itself says of a row that it is gone, where such rows leave the copy; empty where none do."""
    deletes = spec.deletes
    if not deletes.drops_marked:
        return ""
    mark = column(deletes.column)
    if deletes.value is None:
        return f"{mark} IS NOT NULL"
    # Letter by letter, as the lake compares: a collation may take other spellings for the same.
    return f'{as_text(column_of(spec, deletes.column), mark)} COLLATE "C" = {values(deletes.value, "text")}'


def _rejected(spec: TableSpec) -> str:
    """The condition that Spark cannot hold a row; empty where it holds them all."""
    conditions = [bad.condition for bad in map(unholdable, spec.read_columns) if bad is not None]
    return f"({') OR ('.join(conditions)})" if conditions else ""


def _inside(spec: TableSpec, window: Window, values: Values) -> str:
    if spec.read_by is None:
        return "TRUE"
    is_whole = window.lower is None and window.upper is None
    return inside(spec, window, values, nulls=is_whole and cursor_of(spec).nulls is not NullPolicy.SKIP)


def window_number(spec: TableSpec, windows: Sequence[Window], values: Values) -> str:
    """The window of a row that lies in one: a binary search among their lower ends."""
    if len(windows) == 1:
        return "0"
    lowers = [cursor_value(spec, window.lower, values) for window in windows if window.lower is not None]
    return f"width_bucket({effective(spec)}, ARRAY[{', '.join(lowers)}]) - {len(lowers) - len(windows) + 1}"


def _canonical(each: Column) -> str:
    value, kind = value_of(each), each.spark_type
    if kind in ("float", "double"):
        return (
            f"CASE WHEN {value} IS NOT NULL THEN "
            + _hexadecimal(f"encode(float8send(CAST({value} AS double precision)), 'hex')")
            + " END"
        )
    if kind == "date":
        return f"CAST({as_days(value)} AS text)"
    if kind in ("timestamp", "timestamp_ntz"):
        return f"CAST({as_micros(value)} AS text)"
    if kind == "binary":
        return f"encode({value}, 'hex')"
    if kind == "string":
        text = as_text(each, value)
        return f"{characters(each.encoding, text)} || ':' || {text}"
    if kind.startswith("decimal"):
        return f"CAST(CAST({value} AS {kind.replace('decimal', 'numeric')}) AS text)"
    return f"CAST({value} AS text)"


def _hexadecimal(bits: str) -> str:
    """A double's 16 hexadecimal digits in the notation of Java's `%a`, which Spark prints: `0x1.8p1`."""
    sign_and_exponent = f"CAST(CAST('x' || substr({bits}, 1, 3) AS bit(12)) AS integer)"
    fraction = f"rtrim(substr({bits}, 4), '0')"
    sign = f"CASE WHEN {sign_and_exponent} >= 2048 THEN '-' ELSE '' END"
    exponent = f"({sign_and_exponent} & 2047)"
    finite = (
        f"{sign} || CASE WHEN {exponent} > 0 THEN '0x1.' ELSE '0x0.' END || coalesce(nullif({fraction}, ''), '0') || 'p' || "
        f"CASE WHEN {exponent} > 0 THEN {exponent} - 1023 WHEN {fraction} = '' THEN 0 ELSE -1022 END"
    )
    special = f"CASE WHEN {fraction} <> '' THEN 'NaN' ELSE {sign} || 'Infinity' END"
    return f"CASE WHEN {exponent} = 2047 THEN {special} ELSE {finite} END"
