"""A simulated day in the shop: what a source does between two syncs, including the awkward cases that a sync must survive.

Rows are picked by a hash of their key into 1,024 buckets, each used for one thing: no row is changed twice in a day, the
late transaction never waits for the day nor the day for it, and the same seed picks the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import LiteralString, Self

import psycopg

FUTURE = datetime(2999, 1, 1, tzinfo=UTC)
LATE_KEYS_FROM = 1_000_000  # above the highest order: the day's own new orders must not meet the late ones

# By table. Each is its own transaction, so each has its own stamp, shared by all its rows.
UPDATES: dict[str, LiteralString] = {
    "customer": "UPDATE customer SET c_acctbal = c_acctbal - 12.34 WHERE hashint8extended(c_custkey, %s) & 1023 < 10",
    "supplier": """
        UPDATE supplier SET s_phone = '00-' || substr(s_phone, 4) WHERE hashint8extended(s_suppkey, %s) & 1023 < 51""",
    "part": "UPDATE part SET p_retailprice = p_retailprice + 0.01 WHERE hashint8extended(p_partkey, %s) & 1023 < 10",
    "partsupp": """
        UPDATE partsupp SET ps_availqty = ps_availqty + 1
        WHERE hashint8extended(ps_partkey, %s) & 1023 BETWEEN 20 AND 25""",
    "orders": "UPDATE orders SET o_orderstatus = 'P' WHERE hashint8extended(o_orderkey, %s) & 1023 BETWEEN 1 AND 10",
    "lineitem": """
        UPDATE lineitem SET l_returnflag = 'R', l_comment = 'returned, ünopened'
        WHERE l_linenumber = 1 AND hashint8extended(l_orderkey, %s) & 1023 BETWEEN 1 AND 10""",
}

# Before the first sync, while the late transaction is open already: so that sync reads past the late stamps.
MORNING: dict[str, LiteralString] = {
    "orders": "UPDATE orders SET o_orderpriority = '1-URGENT' WHERE hashint8extended(o_orderkey, %s) & 1023 = 16",
    "lineitem": """
        UPDATE lineitem SET l_shipinstruct = 'TAKE BACK RETURN'
        WHERE l_linenumber = 1 AND hashint8extended(l_orderkey, %s) & 1023 = 16""",
}

LATE_UPDATE = (
    "UPDATE orders SET o_comment = 'stamped early, committed late' WHERE hashint8extended(o_orderkey, %s) & 1023 = 0"
)

NEW_ORDERS = """
    WITH chosen AS (
        SELECT orders.*, highest + %(above)s + row_number() OVER (ORDER BY o_orderkey) AS new_key
        FROM orders, (SELECT max(o_orderkey) AS highest FROM orders) AS top
        WHERE hashint8extended(o_orderkey, %(seed)s) & 1023 BETWEEN %(first)s AND %(last)s
    ), placed AS (
        INSERT INTO orders (o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority, o_clerk,
                            o_shippriority, o_comment)
        SELECT new_key, o_custkey, 'O', o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, 'again, please'
        FROM chosen RETURNING 1
    ), lines AS (
        INSERT INTO lineitem (l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
                              l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode,
                              l_comment)
        SELECT new_key, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax,
               'N', 'O', l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, l_comment
        FROM chosen JOIN lineitem ON l_orderkey = o_orderkey RETURNING 1
    )
    SELECT (SELECT count(*) FROM placed), (SELECT count(*) FROM lines)
"""

CANCELLED_ORDERS = """
    WITH gone AS (
        DELETE FROM orders WHERE hashint8extended(o_orderkey, %s) & 1023 = 14 RETURNING o_orderkey
    ), lines AS (
        DELETE FROM lineitem USING gone WHERE l_orderkey = o_orderkey RETURNING 1
    )
    SELECT coalesce(array_agg(o_orderkey ORDER BY o_orderkey), '{}'), (SELECT count(*) FROM lines) FROM gone
"""

FUTURE_SUPPLIER = """
    INSERT INTO supplier (s_suppkey, s_name, s_address, s_nationkey, s_phone, s_acctbal, s_comment, updated_at)
    SELECT max(s_suppkey) + 1, 'Supplier from the future', 'unknown', 0, '00-000-000-0000', 0, 'its clock is wrong', %s
    FROM supplier RETURNING s_suppkey
"""


# None of those that the day updates.
SPOILT_PART = "SELECT max(p_partkey) FROM part WHERE hashint8extended(p_partkey, %s) & 1023 >= 10"
SPOIL_PART = "UPDATE part SET p_size = -abs(p_size) WHERE p_partkey = %s"
MEND_PART = "UPDATE part SET p_size = abs(p_size) WHERE p_partkey = %s"


@dataclass(frozen=True, slots=True)
class TableDay:
    """What happened to one table, in rows."""

    table: str
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class DayReport:
    """`cancelled_orders` are the keys that are gone from orders (o_orderkey) and lineitem (l_orderkey); `spoilt_part` has a size that breaks its contract."""

    tables: tuple[TableDay, ...]
    cancelled_orders: tuple[int, ...]
    future_supplier: int
    spoilt_part: int
    future: datetime = FUTURE
    """How that supplier is stamped."""

    def of(self, table: str) -> TableDay:
        return next((day for day in self.tables if day.table == table), TableDay(table))


class LateTransaction:
    """Stamps its rows when it is entered and holds them back until `commit`; rolled back if that never comes."""

    def __init__(self, dsn: str, *, seed: int = 1) -> None:
        self._dsn = dsn
        self._seed = seed

    def __enter__(self) -> Self:
        self._connection = psycopg.connect(self._dsn)
        (self.stamped_at,) = _row(self._connection, "SELECT now()")
        updated = self._connection.execute(LATE_UPDATE, [self._seed]).rowcount
        placed, lines = _place_orders(self._connection, self._seed, buckets=(15, 15), above=LATE_KEYS_FROM)
        self.tables = (TableDay("orders", inserted=placed, updated=updated), TableDay("lineitem", inserted=lines))
        return self

    def commit(self) -> tuple[TableDay, ...]:
        """They become visible now, with a stamp from before."""
        self._connection.commit()
        return self.tables

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()


def open_shop(connection: psycopg.Connection, *, seed: int = 1) -> None:
    """The first changes of the day, each in a transaction of its own."""
    for statement in MORNING.values():
        with connection.transaction():
            connection.execute(statement, [seed])


def live_a_day(connection: psycopg.Connection, *, seed: int = 1) -> DayReport:
    """Inserts, updates, hard deletes, one row from the future and one of a size that cannot be, in several transactions of its own, so
    `connection` must have none open. Another seed is another day.
    """
    updated = {}
    for table, statement in UPDATES.items():
        with connection.transaction():
            updated[table] = connection.execute(statement, [seed]).rowcount
    with connection.transaction():
        (spoilt_part,) = _row(connection, SPOILT_PART, [seed])
        updated["part"] += connection.execute(SPOIL_PART, [spoilt_part]).rowcount
    with connection.transaction():
        cancelled, lines_cancelled = _row(connection, CANCELLED_ORDERS, [seed])
    with connection.transaction():
        (future_supplier,) = _row(connection, FUTURE_SUPPLIER, [FUTURE])
    with connection.transaction():  # last: a new key may hash into a bucket that was meant for the old ones
        placed, lines_placed = _place_orders(connection, seed, buckets=(11, 13), above=0)
    inserted = {"orders": placed, "lineitem": lines_placed, "supplier": 1}
    deleted = {"orders": len(cancelled), "lineitem": lines_cancelled}
    return DayReport(
        tables=tuple(
            TableDay(name, inserted.get(name, 0), count, deleted.get(name, 0)) for name, count in updated.items()
        ),
        cancelled_orders=tuple(cancelled),
        future_supplier=future_supplier,
        spoilt_part=spoilt_part,
    )


def fix_part(connection: psycopg.Connection, day: DayReport) -> None:
    """Its size is what it was, under a new stamp."""
    with connection.transaction():
        connection.execute(MEND_PART, [day.spoilt_part])


def _place_orders(
    connection: psycopg.Connection, seed: int, *, buckets: tuple[int, int], above: int
) -> tuple[int, int]:
    first, last = buckets
    placed, lines = _row(connection, NEW_ORDERS, {"seed": seed, "above": above, "first": first, "last": last})
    return placed, lines


def _row(connection: psycopg.Connection, statement: LiteralString, parameters: list | dict | None = None) -> tuple:
    row = connection.execute(statement, parameters).fetchone()
    if row is None:
        raise LookupError("a statement of the demo's day returned no row")
    return row
