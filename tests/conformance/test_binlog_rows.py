"""T76: whatever is done to the rows of a table that is read from a binlog, the copy is the table after each sync."""

from __future__ import annotations

from incremental_assets.core.planning.report import Status
from tests.adapters.logs import test_binlog_types as types
from tests.adapters.logs.binlogged import ORDERS, OpenBinlog
from tests.conformance.log_words import BINLOG
from tests.conformance.scenario import of_binlog
from tests.conformance.test_log_rows import SYNCS, a_random_day


@of_binlog(
    "T76",
    "300 transactions insert, update, move and delete rows of forty keys among a thousand, by INSERT IGNORE, ON DUPLICATE KEY and UPDATE IGNORE too, with savepoints and rollbacks; "
    "ten syncs between them, each with many changes of one key in a batch",
    holds="the copy equals the source after each sync",
)
def test_a_batch_holds_inserts_updates_and_deletes_of_the_same_keys(open_binlog: OpenBinlog) -> None:
    assert a_random_day(open_binlog(), 1, BINLOG) > SYNCS


@of_binlog(
    "T76",
    "Keys swap, follow each other in a chain, are freed by a delete and taken by another row, all in one transaction and over several; all move at once in an order in which each takes the place of another; REPLACE",
    holds="each row is in the copy once, under its last key",
)
def test_keys_that_change(open_binlog: OpenBinlog) -> None:
    shop = open_binlog()
    shop.execute(f"INSERT INTO orders SELECT n, concat('order ', n), n, 'first' FROM {BINLOG.many(20)}")
    shop.land()
    shop.together(
        "UPDATE orders SET id = -1 WHERE id = 1",
        "UPDATE orders SET id = 1 WHERE id = 2",
        "UPDATE orders SET id = 2 WHERE id = -1",
        "DELETE FROM orders WHERE id = 10",
        "UPDATE orders SET id = 10 WHERE id = 11",
        "INSERT INTO orders VALUES (11, 'again', 0, 'after')",
        "REPLACE INTO orders VALUES (12, 'replaced', 0, 'whole')",
    )
    shop.execute("UPDATE orders SET id = 30 WHERE id = 3", "UPDATE orders SET id = 31 WHERE id = 30")
    shop.land()
    shop.assert_equal()
    shop.execute("UPDATE orders SET id = id + 1 ORDER BY id DESC", "UPDATE orders SET id = id - 2 ORDER BY id")
    shop.land()
    shop.assert_equal()


@of_binlog(
    "T76",
    "A table is emptied by TRUNCATE between inserts, and then alone, beside updates of another one; DELETE without a condition empties it again",
    holds="what came after is in the copy and nothing else; where TRUNCATE would leave no row, the copy stays as it is until somebody allows it",
)
def test_a_table_that_is_emptied(open_binlog: OpenBinlog) -> None:
    shop = open_binlog(ORDERS, "items (id int PRIMARY KEY, n int)")
    shop.execute(
        f"INSERT INTO orders SELECT n, 'new', n, NULL FROM {BINLOG.many(9)}",
        f"INSERT INTO items SELECT n, 0 FROM {BINLOG.many(9)}",
    )
    shop.stand.land("orders", "items")
    shop.execute(
        "INSERT INTO orders VALUES (50, 'gone', 1, NULL)",
        "TRUNCATE orders",
        "INSERT INTO orders VALUES (3, 'after', 1, NULL)",
        "UPDATE items SET n = n + 1",
    )
    shop.stand.land("orders", "items")
    shop.assert_equal("orders", "items")
    shop.execute("TRUNCATE TABLE items", "UPDATE orders SET total = total + 1")
    reports = shop.stand.sync("orders", "items")
    assert "which would leave none of the 9 rows in the copy" in str(reports["items"].error)
    assert len(shop.stand.copy("items")) == 9
    shop.assert_equal("orders")
    shop.land("items", allow_shrink=True)
    shop.execute("INSERT INTO items VALUES (1, 0), (2, 0)")
    shop.land("items")
    # Rows that go one by one are no mistake.
    shop.execute("DELETE FROM items")
    shop.land("items")
    shop.assert_equal("orders", "items")


@of_binlog(
    "T76",
    "Every type that is read, at the ends of what it holds, written by sessions of another time zone; columns that are computed, stored and not; dates and moments that are none of the calendar",
    holds="each value is bit for bit the one that a load of the same table reads, and the same rows are rejected for the same reasons",
)
def test_values_of_every_type(open_binlog: OpenBinlog) -> None:
    world = open_binlog().stand.shop
    types.test_every_type_comes_as_a_load_reads_it(world)


@of_binlog(
    "T76",
    "Rows that no copy can hold (the date zero) come by the log, by an insert and by an update of a row that has landed; then they are put right, and one goes",
    holds="the others land, each of these is in quarantine with its column and reason and is not in the copy; put right it lands, and the copy equals the source",
)
def test_rows_that_cannot_land(open_binlog: OpenBinlog) -> None:
    shop = open_binlog("orders (id int PRIMARY KEY, due date)")
    shop.execute("INSERT INTO orders VALUES (1, '2024-01-01'), (2, '2024-01-02'), (3, '2024-01-03')")
    shop.land()
    lax = "SET SESSION sql_mode = ''"
    shop.together(
        lax,
        "INSERT INTO orders VALUES (4, '0000-00-00'), (5, '2024-01-05'), (6, '0000-00-00')",
        "UPDATE orders SET due = '0000-00-00' WHERE id = 2",
    )
    report = shop.land()
    assert (report.status, report.rows.quarantined) == (Status.LANDED, 3)
    assert [row[0] for row in shop.stand.copy("orders")] == [1, 3, 5]
    held = sorted((row["id"], row["_sync_column"]) for row in shop.stand.quarantined("orders"))
    assert held == [("2", "due"), ("4", "due"), ("6", "due")]
    shop.together(lax, "UPDATE orders SET due = '2024-02-02' WHERE id IN (2, 4)", "DELETE FROM orders WHERE id = 6")
    shop.land()
    shop.assert_equal()
    assert len(shop.stand.copy("orders")) == 5


@of_binlog(
    "T76",
    "`strategy: append` over changes of forty keys, moved keys and TRUNCATE among them, in batches of many changes of one key",
    holds="each change is a row once, with its letter and place; one after the other they come to the source's table",
)
def test_every_change_is_a_row(open_binlog: OpenBinlog) -> None:
    shop = open_binlog(more="strategy: append")
    shop.execute(f"INSERT INTO orders SELECT n, 'old', n, 'first' FROM {BINLOG.many(40)}")
    shop.land()
    for part in range(3):
        for number in range(1, 20):
            key = 1 + 7 * number % 40
            shop.execute(
                f"DELETE FROM orders WHERE id = {key}",
                f"UPDATE IGNORE orders SET id = {key} WHERE id = {number + part}",
                f"INSERT INTO orders VALUES ({key}, 'put', 1, NULL) ON DUPLICATE KEY UPDATE total = total + 1",
            )
        shop.land()
        shop.assert_replayed()
        shop.execute("TRUNCATE orders", "INSERT INTO orders VALUES (1, 'after', 1, NULL)")
        shop.land()
        shop.assert_replayed()
