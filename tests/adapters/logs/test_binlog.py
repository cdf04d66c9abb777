"""A table that is read from a binlog, through the whole product: its copy is the source's table after each sync, whatever was done to it."""

from __future__ import annotations

from contextlib import closing

import pytest

from incremental_assets.cli.commands import capture, doctor, plan, status
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.report import Status
from tests.adapters.logs.binlogged import OpenBinlog

TEN = "(WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 10) SELECT n FROM g) g"


def test_inserts_updates_deletes_and_keys_that_change_land_as_they_were_committed(open_binlog: OpenBinlog) -> None:
    shop = open_binlog()
    shop.execute(f"INSERT INTO orders SELECT n, 'new', n, 'first' FROM {TEN}")
    first = shop.land()
    assert (first.status, first.guarantee) == (Status.LANDED, Guarantee.SETTLED)
    shop.assert_equal()
    shop.execute(
        "INSERT INTO orders VALUES (21, 'new', 21, NULL)",
        "UPDATE orders SET status = 'paid', total = total + 1 WHERE id <= 3",
        "DELETE FROM orders WHERE id IN (4, 5)",
        "INSERT INTO orders VALUES (4, 'again', 4, 'second')",
        "INSERT INTO orders VALUES (99, 'gone', 1, 'at once')",
        "DELETE FROM orders WHERE id = 99",
    )
    shop.together(
        "UPDATE orders SET id = -1 WHERE id = 1",
        "UPDATE orders SET id = 1 WHERE id = 2",
        "UPDATE orders SET id = 2 WHERE id = -1",
    )
    shop.land()
    shop.assert_equal()
    assert shop.land().status is Status.IDLE


@pytest.mark.acceptance
def test_every_change_is_a_row_of_an_append_and_a_version_of_a_history(open_binlog: OpenBinlog) -> None:
    shop = open_binlog(more="strategy: append")
    shop.execute("INSERT INTO orders VALUES (1, 'old', 1, 'loaded')")
    shop.land()
    shop.execute(
        "INSERT INTO orders VALUES (2, 'new', 2, NULL)",
        "UPDATE orders SET status = 'paid' WHERE id = 2",
        "UPDATE orders SET id = 3 WHERE id = 2",
        "DELETE FROM orders WHERE id = 1",
    )
    shop.land()
    rows = sorted(
        shop.stand.copy("orders", "_commit_lsn", "_change_number", "_op", "id", "status", "note"),
        key=lambda row: row[:2],
    )
    assert [row[2:] for row in rows] == [
        ("r", 1, "old", "loaded"),
        ("c", 2, "new", None),
        ("u", 2, "paid", None),
        ("d", 2, "paid", None),
        ("c", 3, "paid", None),
        ("d", 1, "old", "loaded"),
    ]


@pytest.mark.acceptance
def test_a_history_has_each_version_between_two_syncs(open_binlog: OpenBinlog) -> None:
    shop = open_binlog(more="history: scd2")
    shop.execute("INSERT INTO orders VALUES (1, 'a', 1, NULL)", "INSERT INTO orders VALUES (2, 'a', 1, NULL)")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'b' WHERE id = 1",
        "UPDATE orders SET status = 'c' WHERE id = 1",
        "DELETE FROM orders WHERE id = 2",
    )
    shop.land()
    shop.assert_equal()
    versions = shop.stand.copy("orders__history", "id", "status", "_sync_deleted")
    assert versions == [(1, "a", False), (1, "b", False), (1, "c", False), (2, "a", False), (2, "a", True)]


@pytest.mark.acceptance
def test_a_check_finds_what_was_written_past_the_log_and_a_repair_puts_it_right(open_binlog: OpenBinlog) -> None:
    shop = open_binlog()
    shop.execute(f"INSERT INTO orders SELECT n, 'new', n, 'first' FROM {TEN}")
    shop.land()
    shop.execute("UPDATE orders SET status = 'paid' WHERE id = 1")
    # Behind the copy's position, and rightly so.
    assert shop.stand.check("orders") == 0
    shop.together("SET SESSION sql_log_bin = 0", "UPDATE orders SET status = 'hidden' WHERE id = 5")
    shop.land()
    assert shop.stand.check("orders") == 1
    shop.stand.repair("orders")
    shop.land()
    shop.assert_equal()


def test_commands_say_where_the_log_stands_and_what_it_asks_of_the_source(open_binlog: OpenBinlog) -> None:
    shop = open_binlog()
    config, user = shop.stand.shop.config, "'reader'@'127.0.0.1'"
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    shop.execute("INSERT INTO orders VALUES (2, 'new', 2, NULL)")
    (table,) = status.run(config, (), offline=False).document["tables"]
    assert table["log"]["position"] == str(shop.at())
    assert (table["error"], table["warnings"]) == (None, [])
    (table,) = plan.run(config, ()).document["tables"]
    assert (table["action"], table["error"]) == ("read", None)
    (source,) = capture.run(config, "status", ()).document["sources"]
    assert (source["error"], source["read_to"] is None) == (None, False)
    assert 0 < source["unread_bytes"] < source["source_keeps_bytes"]
    assert [each["behind_bytes"] for each in source["tables"]] == [source["unread_bytes"]]
    (found,) = [each for each in doctor.run(config, (), sql=False).document["findings"] if each["topic"] == "log"]
    assert found["health"] == "ok"
    assert doctor.run(config, (), sql=True).document["sql"] == {"shop": ""}
    shop.execute(f"REVOKE REPLICATION SLAVE ON *.* FROM {user}")
    try:
        assert doctor.run(config, (), sql=True).document["sql"] == {
            "shop": f"GRANT REPLICATION SLAVE ON *.* TO {user};"
        }
        assert "lacks a privilege" in shop.refused()
    finally:
        shop.execute(f"GRANT REPLICATION SLAVE ON *.* TO {user}")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
@pytest.mark.parametrize("charset", ["latin1", "utf8"])
def test_a_session_of_any_charset_empties_a_table_of_any_name(open_binlog: OpenBinlog, charset: str) -> None:
    shop = open_binlog("orders (id int PRIMARY KEY)", "größen (id int PRIMARY KEY, v int)")
    shop.execute("INSERT INTO größen VALUES (1, 1), (2, 2)")
    shop.land("größen")
    with closing(shop.writing()) as connection:
        cursor = connection.cursor()
        cursor.execute(f"SET NAMES {charset}")
        connection.encoding = charset
        cursor.execute("TRUNCATE TABLE größen")
        cursor.execute("INSERT INTO größen VALUES (3, 3)")
        connection.commit()
    assert shop.land("größen").rows.deleted == 2
    assert shop.stand.check("größen") == 0
    with closing(shop.writing()) as connection:
        cursor = connection.cursor()
        cursor.execute(f"SET NAMES {charset}")
        connection.encoding = charset
        cursor.execute("ALTER TABLE größen MODIFY v bigint")
        cursor.execute("ALTER TABLE größen MODIFY v int")
    assert "a statement has altered, renamed, dropped or made it (ALTER TABLE)" in shop.refused("größen")
