"""A check of a copy that is read from the log: what is wrong is found while others write, and what has just changed is none of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from incremental_assets.adapters.logs import gathering
from incremental_assets.core.checks.differing_rows import differing_rows
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.reconcile import reconcile
from incremental_assets.core.differences import differing
from incremental_assets.core.errors import SelectionError, SourceRefused
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.verdict import Check
from incremental_assets.core.planning.report import Status
from tests.adapters.logs.shelved import ORDERS, LoggedShop, Open

Patch = pytest.MonkeyPatch
SEVERAL = "stays (day date, code text, amount numeric(12,4), at timestamptz, ok boolean, who uuid, raw bytea, n int, PRIMARY KEY (day, code, amount, at, ok, who, raw))"
KEYS = """
INSERT INTO stays SELECT d::date, c, a, t, true, '6d5a2a4e-0b6f-4d0c-9b6a-1f4f3c7b8a90', '\\x00ff', 1
FROM unnest('{0044-03-15 BC,2024-01-31,20000-01-01}'::text[]) AS d, unnest('{é,"a,b",""}'::text[]) AS c,
     unnest('{0.5,-10000}'::numeric[]) AS a, unnest('{2024-01-31 10:00:00.123456+02,0001-01-01 00:00+00 BC}'::timestamptz[]) AS t
"""


def checked(shop: LoggedShop, name: str = "orders") -> Drift:
    with shop.stand.runtime() as runtime:
        return reconcile(shop.stand.spec(name), None, runtime.ports("shop"))


def beside_changes(shop: LoggedShop) -> Drift:
    """A check that has left out what writers had just changed."""
    until = time.monotonic() + 120
    while "not compared" not in (found := checked(shop)).detail:
        assert time.monotonic() < until, found.detail
    return found


def losing(shop: LoggedShop, *keys: int, name: str = "orders") -> None:
    """A sync in which the changes of these keys are lost, as by a mistake of ours."""
    together = gathering._together

    def lost(spec: TableSpec, found: list[pa.Table]) -> pa.Table | None:
        rows = together(spec, found)
        return None if rows is None else rows.filter(pc.invert(pc.is_in(rows.column("id"), pa.array(keys, pa.int32()))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "_together", lost)
        shop.land(name)


@contextmanager
def writing(shop: LoggedShop, writers: int = 8, keys: int = 400) -> Iterator[None]:
    """Each changes, adds, removes and renames rows from 100 on, one transaction after the other, some of which are not waited for."""
    over, failed = threading.Event(), list[psycopg.Error]()
    dsn = shop.stand.shop.postgres.dsn(shop.stand.shop.database)

    def write(number: int) -> None:
        random = Random(number)
        try:
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute(f"SET synchronous_commit = {'off' if number % 2 else 'on'}".encode())
                while not over.wait(0.005):
                    one, other = (100 + random.randrange(keys) for _ in range(2))
                    sql = random.choice(
                        (
                            f"UPDATE orders SET status = CASE status WHEN 'a' THEN 'b' ELSE 'a' END WHERE id = {one}",
                            f"INSERT INTO orders VALUES ({one}, 'new', 1) ON CONFLICT (id) DO UPDATE SET total = orders.total + 1",
                            f"DELETE FROM orders WHERE id = {one}",
                            f"UPDATE orders SET id = {other} WHERE id = {one} AND NOT EXISTS (SELECT FROM orders WHERE id = {other})",
                        )
                    )
                    try:
                        connection.execute(sql.encode())
                    except psycopg.errors.UniqueViolation:
                        continue
        except psycopg.Error as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
    assert failed == []
    # One that is waited for: the log has those before it, too, which are visible up to half a second sooner. One that has written nothing is not.
    shop.execute("SELECT pg_logical_emit_message(true, 'test', 'written')")


def wrong_rows_beside_writers(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'first' FROM generate_series(1, 300) AS n")
    shop.land()
    shop.execute(
        "UPDATE orders SET status = 'lost' WHERE id IN (6, 7)",
        "INSERT INTO orders VALUES (-1, 'lost')",
        "DELETE FROM orders WHERE id = 9",
    )
    losing(shop, 6, 7, -1, 9)
    with writing(shop):
        found = beside_changes(shop)
        assert (found.rows, set(found.samples)) == (4, {"6", "7", "-1"}), found.detail
        assert shop.stand.check("orders") == 4
        at = shop.at()
        done = shop.stand.repair("orders")
        assert (done.report.status, done.left and done.left.rows) == (Status.LANDED, 0), done
        assert (done.report.rows.updated, done.report.rows.inserted, done.report.rows.deleted) == (2, 1, 1)
        assert shop.at().lsn == at.lsn
        shop.land()
    shop.land()
    shop.assert_equal()
    assert [
        verdict.detail for verdict in shop.stand.verdicts("orders") if verdict.check in (Check.CURRENT, Check.OVERLAP)
    ] == [
        "the current versions are the rows of the copy",
        "no two versions of a key overlap",
    ]


def test_what_is_wrong_in_a_copy_is_found_and_repaired_while_eight_writers_write(open_shop: Open) -> None:
    wrong_rows_beside_writers(open_shop(more="history: scd2"))


def no_drift_beside_writers(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'first' FROM generate_series(1, 300) AS n")
    shop.land()
    skipped = 0
    with writing(shop):
        for turn in range(12):
            found = checked(shop)
            assert (found.rows, found.was_compared) == (0, True), found.detail
            assert found.through is not None
            skipped += "not compared" in found.detail
            if turn % 4 == 3:
                landing = threading.Thread(target=shop.land)
                landing.start()
                assert checked(shop).rows == 0
                landing.join(120)
    assert skipped


@pytest.mark.acceptance
def test_a_busy_table_shows_no_drift_that_is_none(open_shop: Open) -> None:
    no_drift_beside_writers(open_shop())


def a_commit_that_the_copy_has_and_the_source_does_not_show(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders VALUES (1, 'new'), (2, 'new')")
    shop.land()
    shop.execute("UPDATE orders SET status = 'lost' WHERE id = 2")
    losing(shop, 2)
    shop.set_standbys("nobody")
    waits = threading.Thread(target=shop.execute, args=("UPDATE orders SET status = 'paid' WHERE id = 1",))
    try:
        waits.start()
        while shop.stand.shop.rows("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == [(0,)]:
            pass
        shop.land()
        assert shop.stand.copy("orders", "id", "status") == [(1, "paid"), (2, "new")]
        assert shop.stand.check("orders") == 1
        shop.stand.repair("orders")
        assert shop.stand.copy("orders", "id", "status") == [(1, "paid"), (2, "lost")]
    finally:
        shop.set_standbys("")
        waits.join(60)
    shop.land()
    shop.assert_equal()
    assert checked(shop).rows == 0


@pytest.mark.acceptance
def test_a_commit_that_waits_for_a_standby_is_neither_drift_nor_taken_back(open_shop: Open) -> None:
    a_commit_that_the_copy_has_and_the_source_does_not_show(open_shop())


def keys_of_all_kinds(shop: LoggedShop) -> None:
    shop.execute(KEYS)
    shop.land("stays")
    found = checked(shop, "stays")
    assert (found.rows, found.detail.partition(",")[0]) == (0, "36 rows are equal")
    shop.execute("UPDATE stays SET n = 2 WHERE amount > 0", "DELETE FROM stays WHERE day < '2000-01-01' AND amount < 0")
    found = checked(shop, "stays")
    assert (found.rows, found.detail.partition("; ")[2].partition(",")[0]) == (0, "24 rows were not compared")
    shop.execute("TRUNCATE stays")
    assert checked(shop, "stays").rows == 0
    shop.execute(KEYS)
    shop.land("stays")
    assert checked(shop, "stays").rows == 0


@pytest.mark.acceptance
def test_keys_of_all_kinds_that_have_changed_are_known_again(open_shop: Open) -> None:
    keys_of_all_kinds(open_shop(ORDERS, SEVERAL))


@pytest.mark.acceptance
def test_of_more_rows_than_can_be_named_as_many_have_drifted_as_no_change_tells_of(
    open_shop: Open, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(differing, "MOST_PLACES", 5)
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'first' FROM generate_series(1, 30) AS n")
    shop.land()
    shop.execute("UPDATE orders SET status = 'paid' WHERE id <= 10")
    found = checked(shop)
    assert (found.rows, found.was_compared) == (0, False)
    assert found.detail.startswith("10 rows differ and 10 changes came behind")
    assert "sync --select shop.public.orders" in found.detail
    shop.execute("UPDATE orders SET status = 'lost' WHERE id > 18")
    losing(shop, *range(19, 31))
    assert (found := checked(shop)).rows == 12, found.detail
    shop.stand.check("orders")
    with pytest.raises(SourceRefused, match="more rows differ from the source than are read again one by one"):
        shop.stand.repair("orders")


@pytest.mark.acceptance
def test_of_a_table_that_was_just_truncated_no_number_of_rows_has_drifted(open_shop: Open, monkeypatch: Patch) -> None:
    monkeypatch.setattr(differing, "MOST_PLACES", 5)
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'first' FROM generate_series(1, 30) AS n")
    shop.land()
    shop.execute("TRUNCATE orders", "INSERT INTO orders VALUES (1, 'again', 1, NULL)")
    found = checked(shop)
    assert (found.rows, found.was_compared) == (0, False)
    assert found.detail.startswith("30 rows differ and the table was truncated behind")


def changes_come_to_the_source(shop: LoggedShop) -> None:
    shop.execute("INSERT INTO orders SELECT n, 'new', n, 'first' FROM generate_series(1, 300) AS n")
    shop.land()
    shop.execute(
        "DELETE FROM orders WHERE id = 3",
        "UPDATE orders SET id = 3 WHERE id = 4",
        "TRUNCATE orders",
        "INSERT INTO orders SELECT n, 'again', n, NULL FROM generate_series(2, 6) AS n",
        "UPDATE orders SET status = 'paid' WHERE id = 5",
        "DELETE FROM orders WHERE id = 6",
    )
    shop.land()
    assert checked(shop).detail.startswith("4 rows are equal")
    with writing(shop):
        assert beside_changes(shop).rows == 0
        shop.execute("UPDATE orders SET status = 'lost' WHERE id = 2", "DELETE FROM orders WHERE id = 5")
        losing(shop, 2, 5)
        found = checked(shop)
        assert (found.rows, found.samples) == (2, ("2",)), found.detail


@pytest.mark.acceptance
def test_a_copy_of_every_change_is_compared_by_what_they_come_to(open_shop: Open) -> None:
    shop = open_shop(more="strategy: append")
    changes_come_to_the_source(shop)
    shop.stand.check("orders")
    with pytest.raises(SelectionError, match="has no windows to repair"):
        shop.stand.repair("orders")
    with (
        shop.stand.runtime() as runtime,
        pytest.raises(SelectionError, match="compares what the changes come to"),
    ):
        differing_rows(shop.stand.spec("orders"), None, 10, runtime.ports("shop"))


@pytest.mark.acceptance
def test_diff_shows_what_has_drifted_and_not_what_has_changed(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders SELECT n, 'new', n, NULL FROM generate_series(1, 5) AS n")
    shop.land()
    shop.execute("UPDATE orders SET status = 'lost' WHERE id = 2")
    losing(shop, 2)
    shop.execute("UPDATE orders SET status = 'paid' WHERE id = 1", "DELETE FROM orders WHERE id = 3")
    with shop.stand.runtime() as runtime:
        found = differing_rows(shop.stand.spec("orders"), None, 10, runtime.ports("shop"))
    rows = [(row.source, row.copy, row.is_newer) for row in found.rows]
    assert rows == [(("2", "lost", "2.00", None), ("2", "new", "2.00", None), False)]
    assert (found.is_all, found.through) == (True, str(shop.at()))


@pytest.mark.acceptance
def test_a_load_is_waited_for_and_what_stops_a_sync_stops_a_check(open_shop: Open) -> None:
    shop = open_shop()
    shop.execute("INSERT INTO orders VALUES (1, 'new', 1, NULL)")
    shop.land()
    (verdict,) = [each for each in shop.stand.verdicts("orders") if each.check is Check.RECONCILIATION]
    assert verdict.detail.startswith(f"1 row is equal, verified up to {shop.at()} in the source's log")
    assert shop.stand.check("orders") == 0
    assert shop.stand.verified("orders").through == str(shop.at())
    shop.execute("ALTER TABLE orders ADD COLUMN more int DEFAULT 3")
    (verdict,) = [each for each in shop.stand.verdicts("orders") if each.check is Check.RECONCILIATION]
    assert "columns are not those with which the copy was loaded" in verdict.detail
    shop.stand.reset("orders")
    assert not checked(shop).was_compared
