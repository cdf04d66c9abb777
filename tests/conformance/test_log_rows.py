"""T70: whatever is done to the rows of a table that is read from the log, the copy is the table after each sync."""

from __future__ import annotations

import random
from contextlib import closing
from typing import Any

from incremental_assets.core.planning.report import Status
from tests.adapters.logs.log_shop import LogShop
from tests.adapters.logs.shelved import ORDERS, Open
from tests.conformance.log_words import POSTGRESQL, Words, statements
from tests.conformance.scenario import of_log

LONG = POSTGRESQL.long
TRANSACTIONS, SYNCS = 300, 10


def a_random_day(shop: LogShop[Any], seed: int, words: Words = POSTGRESQL) -> int:
    """Rows that the syncs have landed; the copy is equal after each."""
    chance, landed = random.Random(seed), 0
    shop.execute(f"INSERT INTO orders SELECT n, 'old', n, {words.long} FROM {words.many(1000)}")
    shop.land()
    for number in range(TRANSACTIONS):
        with closing(shop.writing()) as connection:
            cursor = connection.cursor()
            for statement in statements(chance, words):
                cursor.execute(statement)
            connection.rollback() if chance.random() < 0.1 else connection.commit()
        if number % (TRANSACTIONS // SYNCS) == 0:
            report = shop.land()
            landed += report.rows.inserted + report.rows.updated
            shop.assert_equal()
    shop.land()
    shop.assert_equal()
    return landed


@of_log(
    "T70",
    "300 transactions insert, update, move and delete rows of forty keys among a thousand, with large values that an update leaves as they were, savepoints and rollbacks; "
    "ten syncs between them, each with many changes of one key in a batch",
    holds="the copy equals the source after each sync",
)
def test_a_batch_holds_inserts_updates_and_deletes_of_the_same_keys(open_shop: Open) -> None:
    assert a_random_day(open_shop(), 1) > SYNCS


@of_log(
    "T70",
    "Keys swap, follow each other in a chain, are freed by a delete and taken by another row, all in one transaction and over several",
    holds="each row is in the copy once, under its last key",
)
def test_keys_that_change(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute(f"INSERT INTO orders SELECT n, 'order ' || n, n, {LONG} FROM generate_series(1, 20) AS n")
    shop.land()
    shop.together(
        "UPDATE orders SET id = -1 WHERE id = 1",
        "UPDATE orders SET id = 1 WHERE id = 2",
        "UPDATE orders SET id = 2 WHERE id = -1",
        "DELETE FROM orders WHERE id = 10",
        "UPDATE orders SET id = 10 WHERE id = 11",
        "INSERT INTO orders VALUES (11, 'again', 0, 'after')",
    )
    shop.execute("UPDATE orders SET id = 30 WHERE id = 3", "UPDATE orders SET id = 31 WHERE id = 30")
    shop.land()
    shop.assert_equal()
    # All of them at once, so that each takes the place of another one.
    shop.execute("UPDATE orders SET id = id + 100", "UPDATE orders SET id = id - 99")
    shop.land()
    shop.assert_equal()


@of_log(
    "T70",
    "Rows with large values are updated elsewhere, moved to other keys, written twice in one batch, and updated under REPLICA IDENTITY FULL, so that the log does not send the values",
    holds="the copy has every value, and none is NULL",
)
def test_a_value_that_is_not_sent(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute(f"INSERT INTO orders SELECT n, 'new', n, {LONG} || n FROM generate_series(1, 30) AS n")
    shop.land()
    shop.together(
        "UPDATE orders SET status = 'paid' WHERE id <= 10",
        "UPDATE orders SET id = id + 100 WHERE id <= 5",
        "UPDATE orders SET total = -1 WHERE id > 100",
        f"INSERT INTO orders VALUES (200, 'fresh', 1, {LONG})",
        "UPDATE orders SET status = 'paid' WHERE id = 200",
        "UPDATE orders SET note = NULL WHERE id = 10",
    )
    shop.land()
    shop.assert_equal()
    shop.execute("ALTER TABLE orders REPLICA IDENTITY FULL", "UPDATE orders SET status = 'sent' WHERE id > 15")
    shop.execute("ALTER TABLE orders REPLICA IDENTITY DEFAULT", "UPDATE orders SET status = 'told' WHERE id > 25")
    shop.land()
    shop.assert_equal()
    assert sum(row[3] is None for row in shop.stand.copy("orders")) == 1


@of_log(
    "T70",
    "A table is emptied by TRUNCATE between inserts of one transaction, with another one by CASCADE, and then alone, beside updates of a third",
    holds="what came after is in the copy and nothing else; where no row would be left, the copy stays as it is until somebody allows it",
)
def test_a_table_that_is_truncated(open_shop: Open) -> None:
    shop = open_shop(
        ORDERS, "items (id int PRIMARY KEY, of int REFERENCES orders)", "third (id int PRIMARY KEY, n int)"
    )
    names = ("orders", "items", "third")
    shop.execute(
        "INSERT INTO orders SELECT n FROM generate_series(1, 9) AS n",
        "INSERT INTO items SELECT n, n FROM generate_series(1, 9) AS n",
        "INSERT INTO third VALUES (1, 0)",
    )
    shop.stand.land(*names)
    shop.together(
        "INSERT INTO orders VALUES (50)",
        "TRUNCATE orders CASCADE",
        "INSERT INTO orders VALUES (3)",
        "INSERT INTO items VALUES (4, 3)",
        "UPDATE third SET n = n + 1",
    )
    shop.stand.land(*names)
    shop.assert_equal(*names)
    shop.execute("TRUNCATE items", "UPDATE third SET n = n + 1")
    reports = shop.stand.sync(*names)
    assert "which would leave none of the 1 row in the copy" in str(reports["items"].error)
    assert len(shop.stand.copy("items")) == 1
    shop.assert_equal("orders", "third")
    shop.land("items", allow_shrink=True)
    shop.assert_equal(*names)


@of_log(
    "T70",
    "NaN, both infinities, minus zero, the longest and smallest numbers, empty texts, dates before Christ and far ahead: the same rows are loaded into one table, "
    "and come into another by the log, also by updates",
    holds="both copies are equal; what no copy can hold is in quarantine on both ways, and the run says so",
)
def test_values_at_the_ends_of_their_types(open_shop: Open) -> None:
    columns = (
        "(id int PRIMARY KEY, f float8, r real, n numeric, m numeric(38, 10), t text, b bytea, d date, s timestamp, z timestamptz, "
        "u uuid, j jsonb, a int[], o bool)"
    )
    shop = open_shop(f"loaded {columns}", f"logged {columns}")
    fill = (
        "INSERT INTO {t} VALUES (1, 'NaN', 'NaN', 'NaN', 'NaN', '', '', '0001-01-01', '0001-01-01', '0001-01-01+00')",
        "INSERT INTO {t} VALUES (2, 'Infinity', '-Infinity', 'Infinity', NULL, 'ü\u2028\\n', '\\x00ff', '9999-12-31', '9999-12-31 23:59:59.999999')",
        "INSERT INTO {t} VALUES (3, '-0', '-0', -0, 9999999999999999999999999999.9999999999, '{{}}', NULL, NULL, NULL, 'infinity')",
        "INSERT INTO {t} VALUES (4, 1e308, 1e-38, 1e-20, -1e-10, repeat('x', 100000), NULL, 'infinity', '-infinity', NULL)",
        "INSERT INTO {t} VALUES (5, 4.9e-324, 3.4e38, 123456789012345678901234567890.5, 0, NULL, NULL, '0044-03-15 BC', '0044-03-15 BC', '294276-12-31')",
        "INSERT INTO {t} VALUES (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '00000000-0000-0000-0000-000000000000', '{{\"a\": 1e400}}', '{{1,NULL}}', true)",
    )
    shop.execute(*(each.format(t="loaded") for each in fill))
    shop.execute("INSERT INTO logged (id, t) SELECT n, 'before' FROM generate_series(5, 9) AS n")
    shop.stand.land("loaded", "logged")
    shop.execute("DELETE FROM logged", *(each.format(t="logged") for each in fill))
    report = shop.land("logged")
    assert report.status is Status.LANDED
    assert [repr(row) for row in shop.stand.copy("logged")] == [repr(row) for row in shop.stand.copy("loaded")]
    held = [
        sorted((row["_sync_column"], row["id"]) for row in shop.stand.quarantined(name))
        for name in ("loaded", "logged")
    ]
    assert held[0] == held[1]
    assert held[0] != []
