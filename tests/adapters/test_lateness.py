"""How late rows come, by PostgreSQL's own record of commits: rows whose transaction was held open are seen with as much, and the others are not."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.checks.lateness import Lateness
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.table import Cursor, Strategy, TableSpec
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.adapters.source import UPDATED, Source

TABLES = (
    "CREATE TABLE orders (id int, updated_at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE local (id int, updated_at timestamp NOT NULL)",
    "CREATE TABLE empty (id int, updated_at timestamptz NOT NULL)",
    "CREATE TABLE odd (id int, updated_at timestamptz NOT NULL)",
    "INSERT INTO odd VALUES (1, 'infinity'), (2, '-infinity'), (3, now())",
)


@pytest.fixture
def shop(source: Source) -> Source:
    source.execute(*TABLES)
    return source


def lateness(shop: Source, name: str, cursor: Cursor = UPDATED) -> Lateness | None:
    (found,) = shop.open().lateness([shop.spec(name, cursor)])
    return found


def test_a_transaction_that_was_held_open_is_seen_among_those_that_were_not(shop: Source) -> None:
    slow = shop.connect()
    slow.execute("INSERT INTO orders (id) SELECT 0 FROM generate_series(1, 5)")
    # How long it stays open is what is measured.
    time.sleep(2)
    slow.commit()
    quick = shop.connect()
    quick.autocommit = True
    for number in range(1, 96):
        quick.execute("INSERT INTO orders (id) VALUES (%s)", (number,))

    found = lateness(shop, "orders")

    assert found is not None
    assert found.rows == 100
    assert 0 <= found.median < 1
    assert found.nearly_all >= 2
    assert found.longest >= 2


def test_a_stamp_without_a_zone_is_read_in_the_zone_of_its_cursor(shop: Source) -> None:
    shop.execute(
        "INSERT INTO local SELECT n, now() AT TIME ZONE 'Asia/Tokyo' - interval '90 s' FROM generate_series(1, 10) n"
    )

    found = lateness(shop, "local", Cursor("updated_at", CursorType.DATETIME, zone="Asia/Tokyo"))

    assert found is not None
    assert found.longest == pytest.approx(90, abs=30)


def test_of_a_table_without_rows_nothing_is_told_and_an_infinite_stamp_counts_for_none(shop: Source) -> None:
    assert lateness(shop, "empty") is None
    odd = lateness(shop, "odd")
    assert odd is not None
    assert odd.rows == 1


@pytest.mark.postgres
def test_a_server_that_keeps_no_times_of_commits_is_not_asked(tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path, settings={"fsync": "off", "track_commit_timestamp": "off"})
    server.start()
    try:
        server.create_database("shop")
        with psycopg.connect(server.dsn("shop"), autocommit=True) as admin:
            for statement in (TABLES[0], "INSERT INTO orders VALUES (1)"):
                admin.execute(statement.encode())
        where = Address("postgresql", "127.0.0.1", server.port, "shop", server.user, server.password)
        probe = SqlProbe(where, "shop")
        (shape,) = probe.catalogue()
        assert probe.lateness([TableSpec(shape, Strategy.APPEND, UPDATED)]) == (None,)
        probe.close()
    finally:
        server.remove()
