"""T79: tables that are read from a binlog are altered, renamed and made anew."""

from __future__ import annotations

import pytest

from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.binlogged import BinlogShop, OpenBinlog
from tests.conformance.log_words import BINLOG
from tests.conformance.scenario import of_binlog
from tests.conformance.test_log_server import assert_stopped

ALTERED = {
    "a column is added": ("ALTER TABLE orders ADD COLUMN more int DEFAULT 7",),
    "added in the middle": ("ALTER TABLE orders ADD COLUMN more int DEFAULT 7 AFTER id",),
    "dropped": ("ALTER TABLE orders DROP COLUMN note",),
    "dropped and made anew": ("ALTER TABLE orders DROP COLUMN note", "ALTER TABLE orders ADD COLUMN note text"),
    "renamed": ("ALTER TABLE orders CHANGE note remark text",),
    "of a wider type": ("ALTER TABLE orders MODIFY total decimal(12,4)",),
    "of another charset": ("ALTER TABLE orders CONVERT TO CHARACTER SET latin1",),
    "rows are rewritten by ENGINE": ("ALTER TABLE orders ENGINE = InnoDB",),
    "and by partitions": ("ALTER TABLE orders PARTITION BY HASH (id) PARTITIONS 2",),
    "the table is dropped and made anew": (
        "DROP TABLE orders",
        f"CREATE TABLE {BINLOG.orders}",
        f"INSERT INTO orders SELECT n + 1, 'another', 1, NULL FROM {BINLOG.many(8)}",
    ),
    "two tables swap names": (
        "CREATE TABLE other LIKE orders",
        "INSERT INTO other SELECT id, 'other', total, note FROM orders WHERE id < 7",
        "RENAME TABLE orders TO before_it, other TO orders, before_it TO other",
    ),
    "renamed and back": (
        "ALTER TABLE orders RENAME TO away",
        "UPDATE away SET status = 'away'",
        "RENAME TABLE away TO orders",
    ),
}


def filled(open_binlog: OpenBinlog) -> BinlogShop:
    shop = open_binlog(BINLOG.orders, "items (id int PRIMARY KEY, n int)")
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, 'note' FROM {BINLOG.many(9)}", "INSERT INTO items VALUES (1, 0)"
    )
    shop.stand.land("orders", "items")
    return shop


@of_binlog(
    "T79",
    f"Between two changes of a range: {', '.join(ALTERED)}",
    holds="the table stops with a sentence that asks for a load, the copy stays as it is, another table goes on, and the load goes on from there: both sides are equal",
)
@pytest.mark.parametrize("altered", ALTERED)
def test_a_table_that_is_altered_in_mid_stream(open_binlog: OpenBinlog, altered: str) -> None:
    shop = filled(open_binlog)
    shop.execute(
        "UPDATE orders SET status = 'before' WHERE id < 4",
        "DELETE FROM orders WHERE id = 9",
        *ALTERED[altered],
        "UPDATE orders SET status = 'after' WHERE id < 3",
        "UPDATE items SET n = n + 1",
    )
    assert_stopped(shop, "--full-refresh", "orders")
    shop.land("items")
    shop.assert_equal("items")
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()
    shop.execute("UPDATE orders SET status = 'on' WHERE id > 1", "DELETE FROM orders WHERE id = 1")
    shop.stand.land("orders", "items")
    shop.assert_equal("orders", "items")


@of_binlog(
    "T79",
    "MariaDB's ALTER IGNORE adds a unique index, which deletes rows that are in no log",
    holds="the table stops with a sentence that asks for a load; after it both sides are equal",
)
def test_an_index_that_deletes_rows(open_binlog: OpenBinlog) -> None:
    shop = filled(open_binlog)
    if shop.stand.shop.title == "MySQL":
        shop.stand.shop.spares("it has no ALTER IGNORE")
    shop.execute("UPDATE orders SET total = 1")
    shop.land()
    shop.execute("ALTER IGNORE TABLE orders ADD UNIQUE INDEX u (total)")
    assert_stopped(shop, "a statement has altered", "orders")
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()
    assert len(shop.stand.copy("orders")) == 1


HARMLESS = (
    "CREATE INDEX i ON orders (total)",
    "ALTER TABLE orders DROP INDEX i",
    "OPTIMIZE TABLE orders",
    "ANALYZE TABLE orders",
    "ALTER TABLE orders COMMENT 'of the shop'",
    "CREATE TABLE other LIKE orders",
    "INSERT INTO other SELECT * FROM orders",
    "ALTER TABLE other ADD COLUMN more int",
    "CREATE TRIGGER beside AFTER UPDATE ON items FOR EACH ROW UPDATE orders SET total = total + 1 WHERE id = 3",
    "CREATE VIEW shown AS SELECT * FROM orders",
    "DROP TABLE other",
    "FLUSH BINARY LOGS",
)


@of_binlog(
    "T79",
    f"What leaves rows as they are, each between changes: {', '.join(HARMLESS[:7])}, a trigger that writes to it, views, other tables that come, change and go",
    holds="nothing stops, every sync lands what has changed, and both sides are equal after each",
)
def test_statements_that_leave_rows_as_they_are(open_binlog: OpenBinlog) -> None:
    shop = filled(open_binlog)
    for number, statement in enumerate(HARMLESS):
        shop.execute(
            "UPDATE orders SET total = total + 1 WHERE id % 3 = 0",
            statement,
            f"INSERT INTO orders VALUES ({20 + number}, 'on', 1, NULL)",
            "UPDATE items SET n = n + 1",
        )
        shop.stand.land("orders", "items")
        shop.assert_equal("orders", "items")


@of_binlog(
    "T79",
    "Columns are called by words of SQL, with quotes, dots, blanks, backticks, umlauts and 63 characters, and as the product calls its own in the log's files",
    holds="inserts, updates and deletes land as in any table",
)
def test_columns_of_any_name(open_binlog: OpenBinlog) -> None:
    names = ("select", 'a "quoted" one', "a.b", " blank", "`tick`", "größe", "x" * 63, "_order", "_op", "change", "lsn")
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    shop = open_binlog(f"orders (id int PRIMARY KEY, {', '.join(f'{name} varchar(40)' for name in quoted)})")
    values = ", ".join("md5(n)" for _ in names)
    shop.execute(f"INSERT INTO orders SELECT n, {values} FROM {BINLOG.many(5)}")
    shop.land()
    shop.execute(
        *(
            f"UPDATE orders SET {name} = 'of {number}' WHERE id = {number % 4 + 1}"
            for number, name in enumerate(quoted)
        ),
        "DELETE FROM orders WHERE id = 5",
        f"INSERT INTO orders SELECT n + 5, {values} FROM {BINLOG.many(2)}",
    )
    shop.land()
    shop.assert_equal()
