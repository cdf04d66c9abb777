"""T74: tables that are read from the log are altered, rewritten and called what they may be called."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest

from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.planning.plan import Mode
from tests.adapters.logs.shelved import LoggedShop, Open
from tests.conformance.scenario import of_log
from tests.waiting import until

ALTERED = {
    "a column is added": "ALTER TABLE orders ADD COLUMN more int DEFAULT 7",
    "dropped": "ALTER TABLE orders DROP COLUMN note",
    "renamed": "ALTER TABLE orders RENAME COLUMN note TO remark",
    "of another type": "ALTER TABLE orders ALTER COLUMN total TYPE text",
    "computed anew under its type": "ALTER TABLE orders ALTER COLUMN total TYPE int USING total * 2",
    "dropped and made anew": "ALTER TABLE orders DROP COLUMN note, ADD COLUMN note text",
}


@of_log(
    "T74",
    f"Between two changes of one transaction, of which none and then some have been read: {', '.join(ALTERED)}",
    holds="the table stops with a sentence that asks for a load, the copy stays as it is, and the load goes on from there: both sides are equal",
)
@pytest.mark.parametrize("altered", ALTERED)
@pytest.mark.parametrize("after", [False, True], ids=["before its last change", "after it"])
def test_a_table_that_is_altered_in_mid_stream(open_shop: Open, altered: str, *, after: bool) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'note' FROM generate_series(1, 9) AS n")
    shop.land()
    before = shop.stand.copy("orders")
    shop.together(
        "UPDATE orders SET status = 'before' WHERE id < 4",
        "DELETE FROM orders WHERE id = 9",
        ALTERED[altered],
        *(() if after else ("UPDATE orders SET status = 'after' WHERE id < 3",)),
    )
    for _ in range(2):
        assert "--full-refresh" in shop.refused()
        assert shop.stand.copy("orders") == before
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()
    shop.execute("UPDATE orders SET status = 'on' WHERE id > 5", "DELETE FROM orders WHERE id = 1")
    shop.land()
    shop.assert_equal()


@of_log(
    "T74",
    "The table is rewritten by VACUUM FULL and by CLUSTER, gets an index, another replication identity and back, is analysed, and changes its owner and comment, rows changing between",
    holds="every sync lands what has changed, and both sides are equal after each",
)
def test_a_table_that_is_rewritten(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, repeat('x', 5000) FROM generate_series(1, 50) AS n")
    shop.land()
    for statement in (
        "VACUUM FULL orders",
        "CLUSTER orders USING orders_pkey",
        "CREATE INDEX ON orders (status)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "ANALYZE orders",
        "ALTER TABLE orders REPLICA IDENTITY DEFAULT",
        "COMMENT ON TABLE orders IS 'of the shop'",
    ):
        shop.execute("UPDATE orders SET total = total + 1 WHERE id % 3 = 0")
        shop.outside(statement)
        shop.execute(
            "DELETE FROM orders WHERE id = (SELECT max(id) FROM orders)", "UPDATE orders SET status = 'on' WHERE id < 9"
        )
        shop.land()
        shop.assert_equal()


@of_log(
    "T74",
    "A publication of all tables: the table is UNLOGGED for a while, in which rows change; or it is rewritten by VACUUM FULL",
    holds="the run is `best_effort` and says that changes may be in no log; of a table that is published by its name the server refuses to make it UNLOGGED",
)
@pytest.mark.parametrize("rewritten", ["UNLOGGED for a while", "VACUUM FULL"])
def test_a_table_that_may_have_been_unlogged(open_shop: Open, rewritten: str) -> None:
    shop = open_shop()
    with pytest.raises(psycopg.Error, match="cannot change table"):
        shop.execute("ALTER TABLE orders SET UNLOGGED")
    shop.execute("DROP PUBLICATION shop", "CREATE PUBLICATION shop FOR ALL TABLES")
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'note' FROM generate_series(1, 9) AS n")
    assert shop.land().guarantee is Guarantee.SETTLED
    if rewritten == "VACUUM FULL":
        shop.outside("VACUUM FULL orders")
    else:
        shop.execute(
            "ALTER TABLE orders SET UNLOGGED",
            "UPDATE orders SET status = 'in no log' WHERE id = 3",
            "ALTER TABLE orders SET LOGGED",
        )
    shop.execute("UPDATE orders SET status = 'on' WHERE id = 5")
    report = shop.land()
    assert report.guarantee is Guarantee.BEST_EFFORT
    assert "whose changes are in no log" in report.guarantee_reason
    shop.land(mode=Mode.FULL_REFRESH)
    shop.assert_equal()
    shop.execute("UPDATE orders SET status = 'on' WHERE id > 5")
    assert shop.land().guarantee is Guarantee.SETTLED


@of_log(
    "T74",
    "Columns are called by words of SQL, with quotes, dots, blanks, backticks, umlauts and 63 characters, and as the product calls its own in the log's files",
    holds="inserts, updates, deletes and values that are not sent land as in any table",
)
def test_columns_of_any_name(open_shop: Open) -> None:
    names = (
        "select",
        'a "quoted" one',
        "a.b",
        " blank ",
        "`tick`",
        "größe",
        "x" * 63,
        "_order",
        "_op",
        "change",
        "lsn",
    )
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    columns = ", ".join(f"{name} text" for name in quoted)
    shop = open_shop(f"orders (id int PRIMARY KEY, {columns})")
    values = ", ".join("repeat(md5(n::text), 200)" for _ in names)
    shop.execute(f"INSERT INTO orders SELECT n, {values} FROM generate_series(1, 5) AS n")
    shop.land()
    shop.execute(
        *(
            f"UPDATE orders SET {name} = 'of {number}' WHERE id = {number % 4 + 1}"
            for number, name in enumerate(quoted)
        ),
        "DELETE FROM orders WHERE id = 5",
        f"INSERT INTO orders SELECT n, {values} FROM generate_series(6, 7) AS n",
    )
    shop.land()
    shop.assert_equal()


@of_log(
    "T74",
    "The table is dropped and made anew under its name; a table of another one's name takes its place by renaming",
    holds="it stops with a sentence that says that another table has its name, and the copy stays as it is",
)
@pytest.mark.parametrize("renamed", [False, True], ids=["made anew", "renamed"])
def test_another_table_under_the_name(open_shop: Open, *, renamed: bool) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1)")
    shop.land()
    columns = "(id int PRIMARY KEY, status text, total numeric(10,2), note text)"
    shop.execute(f"CREATE TABLE other {columns}", "INSERT INTO other VALUES (2)")
    shop.execute("ALTER TABLE orders RENAME TO before" if renamed else "DROP TABLE orders")
    shop.execute("ALTER TABLE other RENAME TO orders", "ALTER PUBLICATION shop ADD TABLE orders")
    for _ in range(2):
        assert "another table has its name" in shop.refused()
    assert [row[0] for row in shop.stand.copy("orders")] == [1]
    shop.land(mode=Mode.FULL_REFRESH)
    shop.execute("INSERT INTO orders VALUES (3)")
    shop.land()
    shop.assert_equal()


def _attached_for_a_while(shop: LoggedShop) -> tuple[Guarantee, ...]:
    shop.execute(
        "CREATE TABLE orders_2 (LIKE orders INCLUDING ALL)",
        "INSERT INTO orders_2 VALUES (201, 'before')",
        "ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES FROM (200) TO (300)",
        "UPDATE orders SET status = 'meanwhile' WHERE id = 201",
        "INSERT INTO orders VALUES (202, 'meanwhile')",
        "ALTER TABLE orders DETACH PARTITION orders_2",
    )
    return ()


def _emptied_while_it_was_detached(shop: LoggedShop) -> tuple[Guarantee, ...]:
    """Whose file is the one of before, and has no row."""
    shop.execute("ALTER TABLE orders DETACH PARTITION orders_1", "DELETE FROM orders_1")
    shop.outside("VACUUM orders_1")
    shop.execute("ALTER TABLE orders ATTACH PARTITION orders_1 FOR VALUES FROM (100) TO (200)")
    return ()


def _attached_twice_and_emptied_between(shop: LoggedShop) -> tuple[Guarantee, ...]:
    _attached_for_a_while(shop)
    shop.execute("DELETE FROM orders_2")
    shop.outside("VACUUM orders_2")
    shop.execute("ALTER TABLE orders ATTACH PARTITION orders_2 FOR VALUES FROM (200) TO (300)")
    return ()


def _detached_beside_an_older_transaction(shop: LoggedShop, syncs: int) -> tuple[Guarantee, ...]:
    """It commits after as many syncs, the first of which sees that the partition has left."""
    dsn = shop.stand.shop.postgres.dsn(shop.stand.shop.database)
    with psycopg.connect(dsn) as older, ThreadPoolExecutor(1) as aside:
        older.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        older.execute("INSERT INTO orders VALUES (150, 'older')")
        detached = aside.submit(shop.outside, "ALTER TABLE orders DETACH PARTITION orders_1 CONCURRENTLY")
        until(lambda: shop.stand.shop.rows("SELECT inhdetachpending FROM pg_inherits WHERE inhdetachpending"))
        older.execute("INSERT INTO orders VALUES (151, 'older')")
        said = tuple(shop.land().guarantee for _ in range(syncs))
        older.commit()
        detached.result()
    return said


STRAYED = {
    "attached, written and detached": _attached_for_a_while,
    "detached, emptied by DELETE and VACUUM, and attached": _emptied_while_it_was_detached,
    "attached and written, and then the same": _attached_twice_and_emptied_between,
    **{
        f"DETACH PARTITION CONCURRENTLY, while an older transaction writes it, which commits after {syncs} syncs": partial(
            _detached_beside_an_older_transaction, syncs=syncs
        )
        for syncs in range(3)
    },
}


AWAY = {
    "dropped": ("DROP TABLE orders_1",),
    "detached": ("ALTER TABLE orders DETACH PARTITION orders_1",),
    "emptied": ("TRUNCATE orders_1",),
    "detached, emptied and attached again": (
        "ALTER TABLE orders DETACH PARTITION orders_1",
        "TRUNCATE orders_1",
        "ALTER TABLE orders ATTACH PARTITION orders_1 FOR VALUES FROM (100) TO (200)",
    ),
}


@of_log(
    "T74",
    f"Rows are written to a partition, and then it is {', '.join(AWAY)}, before the next sync; a history is kept",
    holds="the next sync says that the log does not tell of that, the one after it compares: its rows leave, do not come back, and both sides are equal",
)
@pytest.mark.parametrize("away", AWAY)
def test_a_partition_is_written_and_leaves(open_shop: Open, away: str) -> None:
    shop = open_shop(
        "orders (id int PRIMARY KEY, status text) PARTITION BY RANGE (id)",
        published="WITH (publish_via_partition_root)",
        more="history: scd2",
    )
    shop.execute(
        "CREATE TABLE orders_0 PARTITION OF orders FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (100) TO (200)",
        "INSERT INTO orders SELECT n, 'new' FROM (SELECT generate_series(1, 20) UNION VALUES (101), (102)) AS f(n)",
    )
    shop.land()
    shop.execute(
        "INSERT INTO orders VALUES (103, 'new')", "UPDATE orders SET status = 'later' WHERE id = 101", *AWAY[away]
    )
    promised = [shop.land().guarantee for _ in range(3)]
    assert promised == [Guarantee.BEST_EFFORT, Guarantee.SETTLED, Guarantee.SETTLED]
    shop.assert_equal()
    versions = shop.stand.copy("orders__history", "id", "status", "_sync_deleted", "_is_current")
    assert not [row for row in versions if row[0] > 100 and row[3]]


@of_log(
    "T74",
    f"Rows are written to a partition that is none of the table's at either look: {', '.join(STRAYED)}",
    holds="what the log has of it lands, the run is `best_effort` and says so, and the next one compares: both sides are equal, and the run after that is `settled`",
)
@pytest.mark.parametrize("strayed", STRAYED)
def test_a_partition_is_written_between_two_looks_at_neither_of_which_it_is_there(
    open_shop: Open, strayed: str
) -> None:
    shop = open_shop(
        "orders (id int PRIMARY KEY, status text) PARTITION BY RANGE (id)",
        published="WITH (publish_via_partition_root)",
    )
    shop.execute(
        "CREATE TABLE orders_0 PARTITION OF orders FOR VALUES FROM (0) TO (100)",
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (100) TO (200)",
        "INSERT INTO orders SELECT n, 'new' FROM (SELECT generate_series(1, 20) UNION VALUES (101), (102)) AS f(n)",
    )
    shop.land()
    said = list(STRAYED[strayed](shop))
    for _ in range(3):
        said.append(shop.land().guarantee)
        if said[-1] is Guarantee.SETTLED:
            shop.assert_equal()
    assert (Guarantee.BEST_EFFORT in said, said[-1]) == (True, Guarantee.SETTLED)
