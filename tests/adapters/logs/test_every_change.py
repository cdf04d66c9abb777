"""A copy by the log that keeps every change: what was done to each row, in the order of the commits, once."""

from __future__ import annotations

from typing import Any

import pytest

from incremental_assets.adapters.logs import gathering
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import LoggedShop, Open
from tests.adapters.logs.test_capture import LONG

APPEND = "strategy: append"
ORDERS = "orders (id int PRIMARY KEY, status text, note text)"
FULL = "ALTER TABLE orders REPLICA IDENTITY FULL"
WITH_A_TIME = "orders (id int PRIMARY KEY, at timestamptz, note text)"
OTHER_LONG = "SELECT string_agg(md5((n + 1000)::text), '') FROM generate_series(1, 500) AS n"


def changes(shop: LoggedShop, *names: str) -> list[tuple[Any, ...]]:
    """The copy in the order of its changes: the letter, and these columns."""
    return [row[2:] for row in shop.changes(*(names or ("id", "status")))]


@pytest.mark.acceptance
def test_every_change_is_a_row_with_what_happened_and_its_place(open_shop: Open) -> None:
    shop = open_shop(ORDERS, more=APPEND)
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    shop.execute("INSERT INTO orders VALUES (2, 'new')", "UPDATE orders SET status = 'paid' WHERE id = 1")
    shop.together("DELETE FROM orders WHERE id = 2", "INSERT INTO orders VALUES (2, 'again')")
    shop.execute("UPDATE orders SET id = 3 WHERE id = 2")
    shop.land()
    shop.execute("TRUNCATE orders")
    assert shop.land().rows.inserted == 1
    assert changes(shop) == [
        ("r", 1, "new"),
        ("c", 2, "new"),
        ("u", 1, "paid"),
        ("d", 2, None),
        ("c", 2, "again"),
        ("d", 2, None),
        ("c", 3, "again"),
        ("t", None, None),
    ]
    ((loaded,), *committed) = [row[1:] for row in changes(shop, "_commit_at")]
    ((now,),) = shop.stand.source("SELECT now()")
    assert [loaded, *sorted(at for (at,) in committed), now] == sorted([loaded, *(at for (at,) in committed), now])
    shop.land(mode=Mode.FULL_REFRESH)
    assert changes(shop) == []


@pytest.mark.acceptance
def test_a_row_that_is_gone_is_shown_whole_where_the_log_has_it(open_shop: Open) -> None:
    shop = open_shop(ORDERS, more=APPEND)
    shop.execute(FULL, f"INSERT INTO orders SELECT n, 'new', f.t FROM ({LONG}) AS f(t), generate_series(1, 2) AS n")
    shop.land()
    shop.execute("UPDATE orders SET id = 3, status = 'moved' WHERE id = 1", "DELETE FROM orders WHERE id = 2")
    shop.land()
    assert [(*row[:3], row[3] is not None) for row in changes(shop, "id", "status", "note")] == [
        ("r", 1, "new", True),
        ("r", 2, "new", True),
        ("d", 1, "new", True),
        ("c", 3, "moved", True),
        ("d", 2, "new", True),
    ]


def values_that_were_not_sent(shop: LoggedShop) -> None:
    shop.execute(f"INSERT INTO orders SELECT n, 'new', f.t || n FROM ({LONG}) AS f(t), generate_series(1, 3) AS n")
    shop.land()
    shop.execute(f"UPDATE orders SET note = f.t || id FROM ({OTHER_LONG}) AS f(t) WHERE id = 1")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'paid'",
        "UPDATE orders SET id = 20 WHERE id = 2",
        "UPDATE orders SET status = 'sent' WHERE id IN (1, 20)",
    )
    shop.land()
    long, other = shop.stand.shop.rows(LONG)[0][0], shop.stand.shop.rows(OTHER_LONG)[0][0]
    told = {f"{text}{n}": f"{name} {n}" for name, text in (("first", long), ("second", other)) for n in (1, 2, 3)}
    found = [(*row[:3], told.get(row[3], row[3])) for row in changes(shop, "id", "status", "note")]
    assert sorted(found[:3]) == [(("r", n, "new", f"first {n}")) for n in (1, 2, 3)]
    assert found[3] == ("u", 1, "new", "second 1")
    assert sorted(found[4:7]) == [
        ("u", 1, "paid", "second 1"),
        ("u", 2, "paid", "first 2"),
        ("u", 3, "paid", "first 3"),
    ]
    assert found[7:9] == [("d", 2, None, None), ("c", 20, "paid", "first 2")]
    assert sorted(found[9:]) == [("u", 1, "sent", "second 1"), ("u", 20, "sent", "first 2")]


@pytest.mark.acceptance
def test_a_value_that_was_not_sent_is_that_of_the_version_before(open_shop: Open) -> None:
    values_that_were_not_sent(open_shop(ORDERS, more=APPEND))


def a_version_that_could_not_land(shop: LoggedShop) -> None:
    """What came before it is not what the next one goes on from."""
    shop.execute(f"INSERT INTO orders SELECT n, now(), f.t FROM ({LONG}) AS f(t), generate_series(1, 2) AS n")
    shop.land()
    shop.execute(f"UPDATE orders SET at = 'infinity', note = f.t FROM ({OTHER_LONG}) AS f(t) WHERE id = 1")
    shop.land()
    shop.execute("UPDATE orders SET at = '2024-01-02 03:04:05Z'")
    report = shop.land()
    assert report.rows.quarantined == 1
    ((_, landed, note),) = [row for row in changes(shop, "id", "note") if row[0] == "u"]
    assert (landed, note) == (2, shop.stand.shop.rows(LONG)[0][0])
    assert len(shop.stand.quarantined("orders")) == 2


@pytest.mark.acceptance
def test_a_value_that_came_with_a_change_which_could_not_land_is_told_and_never_guessed(open_shop: Open) -> None:
    a_version_that_could_not_land(open_shop(WITH_A_TIME, more=APPEND))


@pytest.mark.acceptance
def test_a_table_without_a_key_keeps_its_changes_where_the_log_shows_whole_rows(open_shop: Open) -> None:
    shop = open_shop("orders (id int, status text, note text)", more=APPEND)
    shop.execute("INSERT INTO orders VALUES (1, 'new'), (1, 'new')")
    assert "public.orders has no REPLICA IDENTITY" in shop.refused()
    shop.execute(FULL)
    shop.land()
    shop.execute(
        f"INSERT INTO orders SELECT 2, 'long', t FROM ({LONG}) AS f(t)",
        "UPDATE orders SET status = 'sent' WHERE id = 2",
        "DELETE FROM orders WHERE ctid = (SELECT min(ctid) FROM orders)",
    )
    shop.land()
    assert [(*row[:3], row[3] is not None) for row in changes(shop, "id", "status", "note")] == [
        ("r", 1, "new", False),
        ("r", 1, "new", False),
        ("c", 2, "long", True),
        ("u", 2, "sent", True),
        ("d", 1, "new", False),
    ]


def in_whole_transactions(shop: LoggedShop, patch: pytest.MonkeyPatch) -> None:
    """A batch ends with a transaction, and the next one goes on behind it: each change once."""
    shop.land()
    shop.together(*(f"INSERT INTO orders VALUES ({n}, 'one')" for n in (1, 2, 3)))
    shop.execute("UPDATE orders SET status = 'two'", "DELETE FROM orders WHERE id = 2")
    patch.setattr(gathering, "MOST_CHANGES", 1)
    found = []
    for _ in range(2):
        shop.land()
        found.append(len(changes(shop)))
    assert found == [6, 7]
    assert [row[0] for row in changes(shop)] == ["c", "c", "c", "u", "u", "u", "d"]
    shop.assert_replayed()


@pytest.mark.acceptance
def test_changes_that_are_more_than_a_batch_land_in_whole_transactions(
    open_shop: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_whole_transactions(open_shop(ORDERS, more=APPEND), monkeypatch)


def test_a_column_that_is_called_as_one_of_a_change_is_refused_by_name(open_shop: Open) -> None:
    shop = open_shop("orders (id int PRIMARY KEY, _op text)", more=APPEND)
    with pytest.raises(AssertionError, match="the column '_op' has the name of one that `strategy: append` adds"):
        shop.land()


@pytest.mark.acceptance
def test_what_has_landed_once_per_key_is_read_again_to_keep_every_change(open_shop: Open) -> None:
    shop = open_shop(ORDERS)
    shop.execute("INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    config = shop.stand.shop.config
    config.write_text(config.read_text().replace("capture: log", f"capture: log, {APPEND}"))
    assert "what landed was synced on other terms (strategy upsert -> append" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    shop.execute("UPDATE orders SET status = 'paid'")
    shop.land()
    assert changes(shop) == [("r", 1, "new"), ("u", 1, "paid")]


@pytest.mark.acceptance
def test_a_check_says_that_a_copy_of_every_change_without_a_key_is_not_compared(open_shop: Open) -> None:
    shop = open_shop("orders (id int, status text)", more=APPEND)
    shop.execute("ALTER TABLE orders REPLICA IDENTITY FULL", "INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    (found,) = [each for each in shop.stand.verdicts("orders") if each.check is Check.RECONCILIATION]
    assert not found.was_checked
    assert "no change says which of its rows are there now" in found.detail


@pytest.mark.acceptance
def test_a_value_that_is_not_sent_of_a_key_that_python_has_no_date_for(open_shop: Open) -> None:
    shop = open_shop("days (day date PRIMARY KEY, n int, note text)", more=APPEND)
    shop.execute(f"INSERT INTO days SELECT '0044-03-15 BC', 1, f.t FROM ({LONG}) AS f(t)")
    shop.land("days")
    shop.execute("UPDATE days SET n = 2")
    shop.land("days")
    ((_, first), (_, second)) = shop.stand.copy("days", "n", "note")
    assert first == second
    assert [n for (n,) in shop.stand.copy("days", "n")] == [1, 2]
