"""A table that is read from the log, through the whole product: its copy is the source's table after each sync, whatever was done to it."""

from __future__ import annotations

import pytest

from incremental_assets.cli.commands import doctor, plan, status
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.report import Status
from tests.adapters.logs.shelved import ORDERS, Open

LONG = "SELECT string_agg(md5(n::text), '') FROM generate_series(1, 500) AS n"
"""A text that is too long to lie in its row, and does not shrink."""


def test_inserts_updates_and_deletes_land_as_they_were_committed(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'first' FROM generate_series(1, 20) AS n")
    first = shop.land()
    assert (first.status, first.guarantee) == (Status.LANDED, Guarantee.SETTLED)
    shop.assert_equal()
    shop.execute(
        "INSERT INTO orders VALUES (21, 'new', 21, NULL)",
        "UPDATE orders SET status = 'paid', total = total + 1 WHERE id <= 3",
        "DELETE FROM orders WHERE id IN (4, 5)",
        "INSERT INTO orders VALUES (4, 'again', 4, 'second')",
        "INSERT INTO orders VALUES (99, 'gone', 1, 'at once'); DELETE FROM orders WHERE id = 99",
    )
    second = shop.land()
    shop.assert_equal()
    assert (
        second.guarantee_reason == f"every transaction that the source's log has up to {lsn_text(shop.at().lsn or 0)}"
    )
    assert (second.rows.inserted, second.rows.updated) == (1, 4)


def test_a_table_in_which_nothing_was_written_is_not_read(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    versions = shop.stand.versions("orders")
    for _ in range(5):
        report = shop.land()
        if report.status is Status.IDLE:
            break
    assert report.status is Status.IDLE
    assert shop.stand.versions("orders") == versions


@pytest.mark.acceptance
def test_a_value_that_the_log_does_not_send_is_that_of_the_copy(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute(f"INSERT INTO orders SELECT n, 'new', n, f.t || n FROM ({LONG}) AS f(t), generate_series(1, 4) AS n")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'paid' WHERE id IN (1, 2)",
        "UPDATE orders SET id = 10 WHERE id = 2",
        "UPDATE orders SET status = 'sent' WHERE id = 10",
        f"INSERT INTO orders SELECT 11, 'new', 11, f.t || 'fresh' FROM ({LONG}) AS f(t)",
        "UPDATE orders SET status = 'paid' WHERE id = 11",
        "UPDATE orders SET note = 'short' WHERE id = 3",
    )
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_keys_that_change_swap_and_follow_each_other_land(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'order ' || n, n, NULL FROM generate_series(1, 6) AS n")
    shop.land()
    shop.together(
        "UPDATE orders SET id = -1 WHERE id = 1",
        "UPDATE orders SET id = 1 WHERE id = 2",
        "UPDATE orders SET id = 2 WHERE id = -1",
    )
    shop.together("UPDATE orders SET id = 30 WHERE id = 3", "UPDATE orders SET id = 31 WHERE id = 30")
    shop.execute("DELETE FROM orders WHERE id = 4", "UPDATE orders SET id = 4 WHERE id = 5")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_what_was_truncated_leaves_the_copy_and_what_came_after_stays(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 9) AS n")
    shop.land()
    shop.together(
        "INSERT INTO orders VALUES (50, 'x', 1, NULL)", "TRUNCATE orders", "INSERT INTO orders VALUES (3, 'y', 1, NULL)"
    )
    shop.land()
    shop.assert_equal()
    shop.execute("TRUNCATE orders")
    assert "the table was truncated in the source, which would leave none of the 1 row in the copy" in shop.refused()
    assert len(shop.stand.copy("orders")) == 1
    shop.land(allow_shrink=True)
    assert shop.stand.copy("orders") == []


@pytest.mark.acceptance
def test_a_transaction_that_was_open_while_the_table_was_loaded_lands_once(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    late = shop.stand.shop.connect()
    shop.land()
    late.execute("INSERT INTO orders VALUES (2, 'late', 2, NULL)")
    shop.execute("INSERT INTO orders VALUES (3, 'new', 3, NULL)")
    shop.land()
    assert [row[0] for row in shop.stand.copy("orders")] == [1, 3]
    late.execute("UPDATE orders SET status = 'later' WHERE id = 1")
    late.commit()
    late.close()
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_tables_of_one_source_land_each_at_its_own_pace(open_shop: Open) -> None:
    shop = open_shop(ORDERS, "items (id bigint PRIMARY KEY, what jsonb, at timestamptz)")
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)", "INSERT INTO items VALUES (1, '{\"a\": 1}', now())")
    shop.land("orders")
    shop.land("items")
    shop.execute("UPDATE orders SET status = 'a'", "UPDATE items SET at = '2024-01-02 03:04:05.678901+01'")
    shop.land("orders")
    shop.execute("UPDATE orders SET status = 'b'", "INSERT INTO items VALUES (2, NULL, 'infinity')")
    shop.land("orders")
    shop.assert_equal("orders")
    shop.land("items")
    assert len(shop.stand.quarantined("items")) == 1
    assert shop.stand.copy("items", "id", "at") == shop.stand.source("SELECT id, at FROM items WHERE id = 1")


def test_status_plan_and_doctor_say_what_the_log_has(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    shop.execute("INSERT INTO orders VALUES (2, 'new', 2, NULL)")
    config = shop.stand.shop.config
    (table,) = status.run(config, (), offline=False).document["tables"]
    assert table["log"]["position"] == str(shop.at())
    assert table["log"]["source_keeps_bytes"] > 0
    assert (table["watermark"], table["error"], table["warnings"]) == (None, None, [])
    (table,) = plan.run(config, ()).document["tables"]
    assert (table["action"], table["source_read"]["unknown"], table["error"]) == (
        "read",
        "read from the log, which does not tell how much of it is this table's",
        None,
    )
    (found,) = [each for each in doctor.run(config, (), sql=False).document["findings"] if each["topic"] == "log"]
    assert (found["subject"], found["health"]) == ("shop.public.orders", "ok")
    assert doctor.run(config, (), sql=True).document["sql"] == {"shop": ""}


@pytest.mark.acceptance
def test_doctor_prints_what_is_missing_in_the_order_in_which_it_is_run(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("DROP PUBLICATION shop", f"SELECT pg_drop_replication_slot('{shop.slot}')")
    config = shop.stand.shop.config
    (found,) = [each for each in doctor.run(config, (), sql=False).document["findings"] if each["topic"] == "log"]
    assert (found["health"], found["detail"].partition(",")[0]) == ("fail", "there is no publication shop")
    statements = doctor.run(config, (), sql=True).document["sql"]["shop"]
    assert statements.splitlines() == [
        'CREATE PUBLICATION "shop" FOR TABLE "public"."orders";',
        f"SELECT pg_create_logical_replication_slot('{shop.slot}', 'pgoutput');",
    ]
    shop.execute(*statements.splitlines(), "INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_value_that_is_not_sent_of_a_key_before_the_year_1_or_beyond_9999(open_shop: Open) -> None:
    shop = open_shop(
        ORDERS,
        "days (day date PRIMARY KEY, n int, note text)",
        "moments (at timestamptz PRIMARY KEY, n int, note text)",
    )
    for name in ("days", "moments"):
        shop.execute(
            f"INSERT INTO {name} SELECT v::date, 1, f.t || v FROM ({LONG}) AS f(t), unnest('{{0044-03-15 BC,2024-01-31,20000-01-01}}'::text[]) AS v"
        )
        shop.land(name)
        shop.execute(f"UPDATE {name} SET n = 2")
        shop.land(name)
        assert shop.stand.copy(name, "n", "note") == shop.stand.source(f"SELECT n, note FROM {name}")
        shop.execute(f"TRUNCATE {name}", f"INSERT INTO {name} VALUES ('0044-03-15 BC', 3, 'after')")
        shop.land(name)
        assert shop.stand.copy(name, "n", "note") == [(3, "after")]
