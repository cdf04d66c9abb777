"""The shop and its day: what the demo promises about its source is true in the source."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest

from incremental_assets.demo.day import FUTURE, LateTransaction, fix_part, live_a_day
from incremental_assets.demo.postgres import EmbeddedPostgres
from incremental_assets.demo.tpch import DATABASE, READER, TABLES, prepare_shop

SCALE = Decimal("0.01")


@pytest.fixture(scope="module")
def loaded(postgres: EmbeddedPostgres) -> EmbeddedPostgres:
    prepare_shop(postgres, SCALE, lambda table, rows: None)
    return postgres


@pytest.fixture
def shop(loaded: EmbeddedPostgres, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A copy of the loaded shop: every test begins before the first day."""
    database_name = f"shop_{abs(hash(request.node.name))}"
    with psycopg.connect(loaded.dsn(), autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {database_name} TEMPLATE {DATABASE}")
    with psycopg.connect(loaded.dsn(database_name), autocommit=True) as connection:
        yield connection


def rows(connection: psycopg.Connection, table: str) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
    return count


def test_eight_tables_with_keys_and_nothing_stamped_after_yesterday(shop: psycopg.Connection) -> None:
    keys = shop.execute(
        "SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'p' AND connamespace = 'public'::regnamespace"
    ).fetchall()
    assert {name for (name,) in keys} == set(TABLES)
    assert rows(shop, "orders") == 15_000
    for table in ("supplier", "customer", "part", "partsupp", "orders", "lineitem"):
        assert shop.execute(f"SELECT max(updated_at) < now() - interval '23 hours' FROM {table}").fetchone() == (True,)


def test_a_second_load_of_the_same_scale_does_nothing(loaded: EmbeddedPostgres) -> None:
    assert prepare_shop(loaded, SCALE, lambda table, rows: pytest.fail(f"{table} was loaded again")) is False


def test_the_reader_reads_and_sees_transactions_but_writes_nothing(
    shop: psycopg.Connection, postgres: EmbeddedPostgres
) -> None:
    with psycopg.connect(postgres.dsn(shop.info.dbname, READER), autocommit=True) as reader:
        assert rows(reader, "nation") == 25
        assert reader.execute("SELECT pg_has_role('pg_read_all_stats', 'member')").fetchone() == (True,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute("DELETE FROM nation")


def test_the_day_s_report_counts_what_the_tables_show(shop: psycopg.Connection) -> None:
    before = {table: rows(shop, table) for table in TABLES}
    report = live_a_day(shop)
    for table in TABLES:
        day = report.of(table)
        assert rows(shop, table) == before[table] + day.inserted - day.deleted
    for table in ("customer", "part", "partsupp", "orders", "lineitem"):
        day = report.of(table)
        recent = shop.execute(f"SELECT count(*) FROM {table} WHERE updated_at > now() - interval '1 hour'").fetchone()
        assert recent == (day.inserted + day.updated,)
        assert day.updated > 0
    assert report.of("orders").deleted == len(report.cancelled_orders) > 0


def test_a_cancelled_order_leaves_no_line(shop: psycopg.Connection) -> None:
    cancelled = list(live_a_day(shop).cancelled_orders)
    for table, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
        assert shop.execute(f"SELECT count(*) FROM {table} WHERE {key} = ANY(%s)", [cancelled]).fetchone() == (0,)


def test_one_supplier_comes_from_the_future(shop: psycopg.Connection) -> None:
    key = live_a_day(shop).future_supplier
    assert shop.execute("SELECT updated_at FROM supplier WHERE s_suppkey = %s", [key]).fetchone() == (FUTURE,)


def test_one_part_has_a_size_that_cannot_be_until_it_is_mended(shop: psycopg.Connection) -> None:
    sizes = "SELECT count(*), min(p_partkey) FROM part WHERE p_size NOT BETWEEN 1 AND 50"
    assert shop.execute(sizes).fetchone() == (0, None)
    report = live_a_day(shop)
    assert shop.execute(sizes).fetchone() == (1, report.spoilt_part)
    ((spoilt_at,),) = shop.execute("SELECT updated_at FROM part WHERE p_size < 0").fetchall()
    fix_part(shop, report)
    assert shop.execute(sizes).fetchone() == (0, None)
    mended = shop.execute("SELECT updated_at > %s FROM part WHERE p_partkey = %s", [spoilt_at, report.spoilt_part])
    assert mended.fetchone() == (True,)


def test_the_late_transaction_is_stamped_before_the_day_and_seen_after_it(
    shop: psycopg.Connection, postgres: EmbeddedPostgres
) -> None:
    with LateTransaction(postgres.dsn(shop.info.dbname)) as late:
        live_a_day(shop)
        (day_began,) = (
            shop.execute("SELECT min(updated_at) FROM orders WHERE o_comment = 'again, please'").fetchone() or ()
        )
        hidden = rows(shop, "orders")
        orders, lines = late.commit()
    assert late.stamped_at < day_began
    assert rows(shop, "orders") == hidden + orders.inserted
    stamped = shop.execute("SELECT count(*) FROM orders WHERE updated_at = %s", [late.stamped_at]).fetchone()
    assert stamped == (orders.inserted + orders.updated,)
    assert min(orders.inserted, orders.updated, lines.inserted) > 0


def test_an_uncommitted_late_transaction_leaves_nothing(shop: psycopg.Connection, postgres: EmbeddedPostgres) -> None:
    before = rows(shop, "orders")
    with LateTransaction(postgres.dsn(shop.info.dbname)):
        pass
    assert rows(shop, "orders") == before
