"""A table in parts that is read from the log: what happens to its parts as a whole is no change that the log tells of."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.logs import gathering
from incremental_assets.cli.commands import capture
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import LoggedShop, Open

PARTED = "orders (id int PRIMARY KEY, status text) PARTITION BY RANGE (id)"
VIA_ROOT = "WITH (publish_via_partition_root)"


def parted(open_shop: Open, more: str = "") -> LoggedShop:
    """Two parts of a hundred keys each: ten rows in the first, and two in the second."""
    shop = open_shop(PARTED, published=VIA_ROOT, more=more)
    shop.execute(
        "CREATE TABLE orders_0 PARTITION OF orders FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (100) TO (200)",
        "INSERT INTO orders SELECT n, 'new' FROM (SELECT generate_series(1, 10) UNION VALUES (101), (102)) AS f(n)",
    )
    shop.land()
    return shop


@pytest.mark.acceptance
def test_rows_that_move_from_one_part_to_another_land_once(open_shop: Open) -> None:
    shop = parted(open_shop)
    shop.execute("UPDATE orders SET id = 103 WHERE id = 1", "DELETE FROM orders WHERE id = 101")
    shop.land()
    shop.assert_equal()


def test_rows_of_a_part_that_is_attached_land(open_shop: Open) -> None:
    shop = parted(open_shop)
    shop.execute(
        "CREATE TABLE orders_2 (LIKE orders INCLUDING ALL)",
        "INSERT INTO orders_2 VALUES (201, 'attached')",
        "ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES FROM (200) TO (300)",
        "UPDATE orders SET status = 'later' WHERE id = 1",
    )
    shop.land()
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
@pytest.mark.parametrize("statement", ["ALTER TABLE orders DETACH PARTITION orders_1", "TRUNCATE orders_1"])
def test_rows_of_a_part_that_is_detached_or_emptied_leave(open_shop: Open, statement: str) -> None:
    shop = parted(open_shop)
    shop.execute(statement, "UPDATE orders SET status = 'later' WHERE id = 1")
    shop.land()
    shop.land()
    shop.assert_equal()


def test_a_table_with_parts_is_refused_unless_its_changes_are_published_as_its_own(open_shop: Open) -> None:
    shop = open_shop(PARTED)
    shop.execute("CREATE TABLE orders_0 PARTITION OF orders FOR VALUES FROM (0) TO (100)")
    assert 'ALTER PUBLICATION "shop" SET (publish_via_partition_root = true)' in shop.refused()


def test_a_table_that_others_inherit_from_is_refused(open_shop: Open) -> None:
    shop = open_shop("orders (id int, status text)", more="strategy: append")
    shop.execute("ALTER TABLE orders REPLICA IDENTITY FULL", "INSERT INTO orders VALUES (1, 'new')")
    shop.land()
    shop.execute("CREATE TABLE more_orders () INHERITS (orders)", "INSERT INTO more_orders VALUES (2, 'child')")
    assert "other tables inherit from public.orders" in shop.refused()


@pytest.mark.acceptance
def test_a_part_that_comes_without_rows_asks_for_no_comparison(open_shop: Open) -> None:
    shop = parted(open_shop)
    shop.execute("CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM (200) TO (300)")
    report = shop.land()
    shop.execute("INSERT INTO orders VALUES (201, 'new')")
    assert (report.warnings, shop.land().warnings) == ((), ())
    shop.assert_equal()


@pytest.mark.acceptance
def test_changes_land_before_the_comparison_which_leaves_the_position(open_shop: Open) -> None:
    shop = parted(open_shop)
    shop.execute("UPDATE orders SET status = 'later' WHERE id = 1", "TRUNCATE orders_1")
    report = shop.land()
    assert report.guarantee is Guarantee.BEST_EFFORT
    assert "the log does not tell of their rows, which the next sync compares" in report.guarantee_reason
    assert ("later" in str(shop.stand.copy("orders")), len(shop.stand.copy("orders"))) == (True, 12)
    before = shop.at()
    report = shop.land()
    assert "the log does not tell of their rows: all rows are compared once with the copy" in " ".join(report.warnings)
    assert report.guarantee_reason == f"every transaction that the source's log has up to {before}"
    assert shop.at().lsn == before.lsn
    shop.assert_equal()
    assert shop.land().warnings == ()


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "statement", ["ALTER TABLE orders DETACH PARTITION orders_1", "DROP TABLE orders_1", "TRUNCATE orders_1"]
)
def test_rows_that_were_written_to_a_part_before_it_left_leave_with_it(open_shop: Open, statement: str) -> None:
    shop = parted(open_shop)
    shop.execute(
        "INSERT INTO orders VALUES (103, 'new')", "UPDATE orders SET status = 'later' WHERE id = 101", statement
    )
    for _ in range(3):
        shop.land(allow_shrink=True)
    shop.assert_equal()


def landed_before_the_comparison(shop: LoggedShop, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gathering, "MOST_CHANGES", 1)
    numbers = (103, 104, 105, 106)
    shop.execute(*(f"INSERT INTO orders VALUES ({number}, 'new')" for number in numbers), "TRUNCATE orders_1")
    promised = []
    while Guarantee.SETTLED not in promised:
        promised.append(shop.land(allow_shrink=True).guarantee)
    shop.land()
    shop.assert_equal()
    assert len(promised) > 2


@pytest.mark.acceptance
def test_all_that_the_log_had_of_a_part_lands_before_the_comparison_whatever_a_batch_holds(
    open_shop: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    landed_before_the_comparison(parted(open_shop), monkeypatch)


def came_and_left(shop: LoggedShop) -> None:
    shop.execute(
        "CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM (200) TO (300)",
        "INSERT INTO orders VALUES (201, 'meanwhile')",
        "DROP TABLE orders_2",
    )
    promised = [shop.land().guarantee for _ in range(3)]
    shop.assert_equal()
    assert promised == [Guarantee.BEST_EFFORT, Guarantee.SETTLED, Guarantee.SETTLED]


@pytest.mark.acceptance
def test_rows_of_a_part_that_came_and_left_between_two_looks_leave(open_shop: Open) -> None:
    came_and_left(parted(open_shop))


@pytest.mark.acceptance
def test_a_part_whose_identity_does_not_show_the_key_stops_the_table_until_it_is_loaded(open_shop: Open) -> None:
    shop = open_shop(
        "orders (id int PRIMARY KEY, status text, code int NOT NULL) PARTITION BY RANGE (id)", published=VIA_ROOT
    )
    shop.execute(
        "CREATE TABLE orders_0 PARTITION OF orders FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (100) TO (200)",
        "CREATE UNIQUE INDEX by_code ON orders_0 (code)",
        "INSERT INTO orders VALUES (1, 'new', 1), (2, 'new', 2), (3, 'new', 3)",
    )
    shop.land()
    by_code, by_key = (
        f"ALTER TABLE orders_0 REPLICA IDENTITY {identity}" for identity in ("USING INDEX by_code", "DEFAULT")
    )
    # The log says of this row that it was updated, and not that it had another key.
    shop.execute(by_code, "UPDATE orders SET id = 30 WHERE id = 1")
    assert "its partition orders_0 has a REPLICA IDENTITY that does not show id" in shop.refused()
    shop.execute(by_key)
    assert "its partition orders_0 has a REPLICA IDENTITY that does not show id" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    shop.execute(by_code, "DELETE FROM orders WHERE id = 2", by_key)
    assert "a partition of it has a REPLICA IDENTITY that does not show id" in shop.refused()
    shop.land(mode=Mode.FULL_REFRESH)
    shop.execute("DELETE FROM orders WHERE id = 3", "UPDATE orders SET id = 130 WHERE id = 30")
    shop.land()
    shop.assert_equal()


@pytest.mark.acceptance
def test_a_repair_finds_what_left_with_a_part_and_promises_what_it_did(open_shop: Open) -> None:
    shop = parted(open_shop)
    shop.execute("TRUNCATE orders_1")
    report = shop.land(mode=Mode.REPAIR)
    shop.assert_equal()
    assert (report.guarantee, report.rows.deleted) == (Guarantee.SETTLED, 2)


def test_an_unlogged_part_is_refused(open_shop: Open) -> None:
    shop = parted(open_shop)
    shop.execute("CREATE UNLOGGED TABLE orders_2 PARTITION OF orders FOR VALUES FROM (200) TO (300)")
    with shop.stand.runtime() as runtime:
        (problem,) = runtime.specs("shop").problems
    assert "UNLOGGED, whose changes are in no log" in str(problem.error)


@pytest.mark.acceptance
def test_every_change_of_a_table_with_parts_is_kept_and_what_no_log_tells_lowers_the_promise_once(
    open_shop: Open,
) -> None:
    shop = parted(open_shop, more="strategy: append")
    shop.execute("UPDATE orders SET id = 103 WHERE id = 1", "DELETE FROM orders WHERE id = 101")
    assert shop.land().guarantee is Guarantee.SETTLED
    shop.assert_replayed()
    shop.execute("TRUNCATE orders_1", "UPDATE orders SET status = 'later' WHERE id = 2")
    report = shop.land()
    assert (report.guarantee, "the log does not tell of their rows" in report.guarantee_reason) == (
        Guarantee.BEST_EFFORT,
        True,
    )
    shop.execute("INSERT INTO orders VALUES (11, 'new')")
    assert shop.land().guarantee is Guarantee.SETTLED


@pytest.mark.acceptance
def test_a_history_has_what_came_and_left_with_a_part(open_shop: Open) -> None:
    shop = parted(open_shop, more="history: scd2")
    shop.execute(
        "CREATE TABLE orders_2 (LIKE orders INCLUDING ALL)",
        "INSERT INTO orders_2 VALUES (201, 'attached')",
        "ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES FROM (200) TO (300)",
        "TRUNCATE orders_1",
    )
    shop.land()
    shop.land()
    shop.assert_equal()
    versions = shop.stand.copy("orders__history", "id", "_sync_deleted", "_is_current")
    assert [row for row in versions if row[0] > 100] == [
        (101, False, False),
        (101, True, False),
        (102, False, False),
        (102, True, False),
        (201, False, True),
    ]


@pytest.mark.acceptance
def test_what_has_to_be_run_for_a_table_with_parts_is_told(open_shop: Open) -> None:
    shop = open_shop(PARTED)
    config = shop.stand.shop.config
    sql = capture.run(config, "add", ("shop.public.orders",)).document["sql"]["shop"]
    assert sql == 'ALTER PUBLICATION "shop" SET (publish_via_partition_root = true);'
    shop.execute(sql.rstrip(";"), "DROP PUBLICATION shop")
    sql = capture.run(config, "add", ("shop.public.orders",)).document["sql"]["shop"]
    assert sql == 'CREATE PUBLICATION "shop" FOR TABLE "public"."orders" WITH (publish_via_partition_root = true);'
