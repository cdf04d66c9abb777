"""What a server may do that is rare: identities that change in the middle, transactions in two phases, changes that came from another server."""

from __future__ import annotations

import pytest

from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import Open
from tests.adapters.logs.test_capture import LONG


def test_an_identity_that_changes_between_two_changes_of_a_range_loses_none(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute(f"INSERT INTO orders SELECT n, 'new', n, f.t || n FROM ({LONG}) AS f(t), generate_series(1, 6) AS n")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'a' WHERE id = 1",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "UPDATE orders SET id = 20, status = 'b' WHERE id = 2",
        "DELETE FROM orders WHERE id = 3",
        "ALTER TABLE orders REPLICA IDENTITY DEFAULT",
        "UPDATE orders SET id = 40, total = 0 WHERE id = 4",
        "UPDATE orders SET status = 'c' WHERE id = 20",
    )
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_an_identity_that_showed_no_key_for_a_while_stops_the_table_by_name(open_shop: Open) -> None:
    shop = open_shop(
        "orders (id int PRIMARY KEY, status text, total numeric(10,2), note text, code int NOT NULL DEFAULT 1)"
    )
    shop.execute("INSERT INTO orders (id, status, code) SELECT n, 'new', n FROM generate_series(1, 3) AS n")
    shop.execute("CREATE UNIQUE INDEX by_code ON orders (code)")
    shop.land()
    shop.execute(
        "ALTER TABLE orders REPLICA IDENTITY USING INDEX by_code",
        "DELETE FROM orders WHERE id = 2",
        "ALTER TABLE orders REPLICA IDENTITY DEFAULT",
        "UPDATE orders SET status = 'later' WHERE id = 1",
    )
    assert "its REPLICA IDENTITY did not show id, by which its copy identifies rows" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()


@pytest.mark.acceptance
def test_prepared_transactions_land_with_their_commit_whatever_is_loaded_meanwhile(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 5) AS n")
    shop.land()
    for name, change in (
        ("kept", "UPDATE orders SET status = 'kept' WHERE id = 1"),
        ("not", "DELETE FROM orders WHERE id = 2"),
    ):
        shop.together(change, f"PREPARE TRANSACTION '{name}'")
    shop.execute("UPDATE orders SET status = 'before' WHERE id = 3")
    shop.land()
    assert {row[:2] for row in shop.stand.copy("orders")} == {
        (1, "new"),
        (2, "new"),
        (3, "before"),
        (4, "new"),
        (5, "new"),
    }
    shop.land(mode=Mode.FULL_REFRESH)
    assert shop.stand.check("orders") == 0
    shop.outside("COMMIT PREPARED 'kept'")
    shop.outside("ROLLBACK PREPARED 'not'")
    assert shop.stand.check("orders") == 0
    shop.land()
    shop.assert_equal()
    assert len(shop.stand.copy("orders")) == 5


@pytest.mark.acceptance
def test_changes_that_came_from_another_server_land_as_any(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    shop.outside("SELECT pg_replication_origin_create('elsewhere')")
    try:
        with shop.stand.shop.connect() as connection:
            connection.execute("SELECT pg_replication_origin_session_setup('elsewhere')")
            connection.execute("SELECT pg_replication_origin_xact_setup('0/AABBCC', '2001-02-03 04:05:06+00')")
            connection.execute("INSERT INTO orders VALUES (2, 'theirs', 2, NULL)")
            connection.execute("UPDATE orders SET status = 'theirs' WHERE id = 1")
            connection.commit()
            connection.execute("SELECT pg_replication_origin_session_reset()")
        shop.execute("INSERT INTO orders VALUES (3, 'ours', 3, NULL)")
        shop.land()
        shop.assert_equal()
        assert shop.stand.check("orders") == 0
    finally:
        shop.outside("SELECT pg_replication_origin_drop('elsewhere')")
