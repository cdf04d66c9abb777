"""The shop's tables and its day in SQL that MariaDB and SQLite share. What they do not share is written `{…}` or handed in.

The days are those of `day.py`: the same buckets of keys, each used for one thing.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from incremental_assets.demo.day import LATE_KEYS_FROM, DayReport, TableDay
from incremental_assets.demo.tpch import generate

KEYS: Mapping[str, str] = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}
STAMPED = tuple(name for name in KEYS if name not in ("region", "nation"))
"""Tables with an `updated_at`."""

UPDATES: Mapping[str, str] = {
    "customer": "UPDATE customer SET c_acctbal = round(c_acctbal - 12.34, 2) WHERE {c_custkey} < 10",
    "supplier": "UPDATE supplier SET s_phone = '00-' || substr(s_phone, 4) WHERE {s_suppkey} < 51",
    "part": "UPDATE part SET p_retailprice = round(p_retailprice + 0.01, 2) WHERE {p_partkey} < 10",
    "partsupp": "UPDATE partsupp SET ps_availqty = ps_availqty + 1 WHERE {ps_partkey} BETWEEN 20 AND 25",
    "orders": "UPDATE orders SET o_orderstatus = 'P' WHERE {o_orderkey} BETWEEN 1 AND 10",
    "lineitem": """
        UPDATE lineitem SET l_returnflag = 'R', l_comment = 'returned, ünopened'
        WHERE l_linenumber = 1 AND {l_orderkey} BETWEEN 1 AND 10""",
}
MORNING = (
    "UPDATE orders SET o_orderpriority = '1-URGENT' WHERE {o_orderkey} = 16",
    "UPDATE lineitem SET l_shipinstruct = 'TAKE BACK RETURN' WHERE l_linenumber = 1 AND {l_orderkey} = 16",
)
CANCELLED = "{o_orderkey} = 14"
LATE_UPDATE = "UPDATE orders SET o_comment = 'stamped early, committed late' WHERE {o_orderkey} = 0"
NEW_ORDERS = """
    INSERT INTO orders (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment)
    SELECT ? + row_number() OVER (ORDER BY o_orderkey), o_custkey, 'O', o_totalprice, o_orderdate, o_orderpriority, o_clerk,
           o_shippriority, 'again, please'
    FROM orders WHERE {o_orderkey} BETWEEN ? AND ? AND o_orderkey <= ?
"""
NEW_LINES = """
    INSERT INTO lineitem (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag,
                          l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment)
    SELECT new_key, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, 'N', 'O', l_shipdate,
           l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment
    FROM (SELECT o_orderkey, ? + row_number() OVER (ORDER BY o_orderkey) AS new_key
          FROM orders WHERE {o_orderkey} BETWEEN ? AND ? AND o_orderkey <= ?) AS chosen
    JOIN lineitem ON l_orderkey = o_orderkey
"""
SPOILT_PART = "SELECT max(p_partkey) FROM part WHERE {p_partkey} >= 10"
SPOIL_PART = "UPDATE part SET p_size = -abs(p_size) WHERE p_partkey = ?"
MEND_PART = "UPDATE part SET p_size = abs(p_size) WHERE p_partkey = ?"
FUTURE_SUPPLIER = """
    INSERT INTO supplier (s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment, updated_at)
    VALUES (?, 'Supplier from the future', 'unknown', 0, '00-000-000-0000', 0, 'its clock is wrong', ?)
"""

_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\);", re.DOTALL)
_STAMP = re.compile(r"timestamptz\s+NOT NULL DEFAULT .*")
_BUCKET = re.compile(r"\{(\w+)\}")


class Connection(Protocol):
    """A connection, in autocommit unless a transaction was begun. Values are put in for each `?`."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """How many rows it changed."""

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All of an answer."""

    def bucket(self, key: str) -> str:
        """An expression with one `?`, for the seed: a number below 1,024 that is drawn from a key."""


def tables(stamp: str) -> Iterator[str]:
    """The tables of `tables.sql` with their keys; `stamp` is the type of updated_at and how it is kept."""
    script = files("incremental_assets.demo").joinpath("tables.sql").read_text(encoding="utf-8")
    for name, columns in _TABLE.findall(script):
        yield f"CREATE TABLE {name} ({_STAMP.sub(stamp, columns)},\n    PRIMARY KEY ({KEYS[name]})\n)"


def indexes() -> Iterator[str]:
    """The statements for the indexes of the cursors."""
    yield from (f"CREATE INDEX {name}_updated_at ON {name} (updated_at)" for name in STAMPED)


def make_tables(
    connection: Connection,
    stamp: str,
    folder: Path,
    load: Callable[[str, Path], int],
    scale: Decimal,
) -> Iterator[tuple[str, int]]:
    """The tables again from scratch, each with its rows from a file below `folder`, then the indexes. Gives names and rows."""
    for name in KEYS:
        connection.run(f"DROP TABLE IF EXISTS {name}")
    for statement in tables(stamp):
        connection.run(statement)
    with tempfile.TemporaryDirectory(prefix="tpch-", dir=folder) as files_folder:
        generate(Path(files_folder), scale)
        for name in KEYS:
            yield name, load(name, Path(files_folder) / f"{name}.csv")
    for statement in indexes():
        connection.run(statement)


def open_shop(connection: Connection, seed: int) -> None:
    """The first changes of the day, each in a transaction of its own."""
    for statement in MORNING:
        run(connection, statement, seed)


def write_late(connection: Connection, seed: int) -> tuple[TableDay, ...]:
    """What the late transaction writes, in the transaction that is open."""
    updated = run(connection, LATE_UPDATE, seed)
    placed, lines = _place_orders(connection, seed, buckets=(15, 15), above=LATE_KEYS_FROM)
    return TableDay("orders", inserted=placed, updated=updated), TableDay("lineitem", inserted=lines)


def live_a_day(connection: Connection, seed: int, future: datetime, cancelled: str = CANCELLED) -> DayReport:
    """The others: inserts, updates, deletes, one row that is stamped in the future and one of a size that cannot be. `cancelled`: which orders are."""
    updated = {table: run(connection, statement, seed) for table, statement in UPDATES.items()}
    ((spoilt_part,),) = connection.rows(_bucketed(connection, SPOILT_PART), (seed,))
    updated["part"] += connection.run(SPOIL_PART, (spoilt_part,))
    chosen = _bucketed(connection, f"SELECT o_orderkey FROM orders WHERE {cancelled}")  # noqa: S608 - our own words
    keys = [key for (key,) in connection.rows(chosen, (seed,))]
    connection.run("BEGIN")
    # By their keys: a DELETE that looks at every row would wait for those of the late transaction.
    deleted = {
        table: sum(connection.run(f"DELETE FROM {table} WHERE {column} = ?", (key,)) for key in keys)  # noqa: S608 - our own names
        for table, column in (("orders", "o_orderkey"), ("lineitem", "l_orderkey"))
    }
    connection.run("COMMIT")
    ((supplier,),) = connection.rows("SELECT max(s_suppkey) + 1 FROM supplier")
    connection.run(FUTURE_SUPPLIER, (supplier, future.strftime("%Y-%m-%d %H:%M:%S")))
    connection.run("BEGIN")
    placed, lines = _place_orders(connection, seed, buckets=(11, 13), above=0)
    connection.run("COMMIT")
    inserted = {"orders": placed, "lineitem": lines, "supplier": 1}
    return DayReport(
        tables=tuple(TableDay(name, inserted.get(name, 0), updated[name], deleted.get(name, 0)) for name in STAMPED),
        cancelled_orders=tuple(sorted(keys)),
        future_supplier=supplier,
        spoilt_part=spoilt_part,
        future=future,
    )


def fix_part(connection: Connection, day: DayReport) -> None:
    """Its size is what it was, under a new stamp."""
    connection.run(MEND_PART, (day.spoilt_part,))


def run(connection: Connection, statement: str, seed: int) -> int:
    """A statement with one bucket in it."""
    return connection.run(_bucketed(connection, statement), (seed,))


def _place_orders(connection: Connection, seed: int, *, buckets: tuple[int, int], above: int) -> tuple[int, int]:
    ((highest,),) = connection.rows("SELECT max(o_orderkey) FROM orders")
    values = (highest + above, seed, *buckets, highest)
    lines = connection.run(_bucketed(connection, NEW_LINES), values)
    return connection.run(_bucketed(connection, NEW_ORDERS), values), lines


def _bucketed(connection: Connection, statement: str) -> str:
    return _BUCKET.sub(lambda found: connection.bucket(found[1]), statement)
