"""T17: databases whose texts need not be UTF-8: one byte costs its row, and no other one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.shop import Shop, touching

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
- {table: public.orders, strategy: upsert, cursor: {column: updated_at, type: timestamp}, deletes: {mode: diff, every: 1s}}
- "public.visits:at:timestamp!append"
- {table: public.items, strategy: full_refresh, refresh_every: 1s}
"""
MADE = (
    "CREATE TABLE orders (code varchar(20) PRIMARY KEY, note text, updated_at timestamptz NOT NULL DEFAULT now())",
    *touching("orders"),
    "CREATE TABLE visits (who text, tags text[], at timestamptz NOT NULL DEFAULT now())",
    "CREATE TABLE items (id int PRIMARY KEY, label char(8))",
    "INSERT INTO orders (code, note) SELECT 'k' || n, E'k\\303\\244se ' || n FROM generate_series(1, 40) AS n",
    "INSERT INTO visits (who, tags) VALUES (E'\\342\\202\\254', '{a}'), (E'caf\\351', '{a}'), ('z', ARRAY[E'\\377'])",
    "INSERT INTO items VALUES (1, E'\\303\\244'), (2, E'\\351')",
)


@pytest.fixture
def desk(postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession) -> Iterator[Stand]:
    """On a database of any bytes."""
    name = f"{database}_bytes"
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        create = "CREATE DATABASE {} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        admin.execute(sql.SQL(create).format(sql.Identifier(name)))
    desk = Stand(Shop.open(postgres, name, tmp_path, TABLES, options="unlisted: ignore"), spark)
    desk.execute(*MADE)
    yield desk
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@scenario(
    "T17",
    "A SQL_ASCII database: texts that are UTF-8 and some that are not, in values, arrays, and keys, by upsert with deletes, append and full refresh; later such a text is "
    "corrected, and a row that had landed gets one",
    holds="each such row is in quarantine with its column, all others land and are equal, `check` finds no drift, and the corrected row lands",
)
def test_a_byte_that_is_no_text_costs_its_row_alone(desk: Stand) -> None:
    first = desk.land()
    desk.execute(
        "INSERT INTO orders (code, note) VALUES (E'\\300', 'a bad key'), ('k41', E'bad \\377')",
        "UPDATE orders SET note = E'\\200', updated_at = now() WHERE code = 'k1'",
        "DELETE FROM orders WHERE code = 'k2'",
    )
    second = desk.land()
    held = sorted(row["_sync_column"] for row in desk.quarantined("orders"))
    drift = {name: desk.check(name) for name in ("orders", "visits", "items")}
    desk.execute("UPDATE orders SET note = 'good', updated_at = now() WHERE code = 'k41'")
    third = desk.land()

    assert {report.guarantee for report in first.values()} == {Guarantee.SETTLED}
    assert {name: report.rows.quarantined for name, report in first.items()} == {"orders": 0, "visits": 2, "items": 1}
    assert second["orders"].rows.quarantined == 3
    assert held == ["code", "note", "note"]
    assert drift == {"orders": 0, "visits": 0, "items": 0}
    assert third["orders"].rows.inserted == 1
    assert desk.check("orders") == 0
    codes = {code for (code,) in desk.copy("orders", "code")}
    assert codes == {f"k{number}" for number in range(3, 42)}
    assert desk.copy("visits", "who", "tags") == [("€", "{a}")]
    assert desk.copy("items", "id", "label") == [(1, "ä" + 6 * " ")]
    assert ("k3", "käse 3") in desk.copy("orders", "code", "note")
