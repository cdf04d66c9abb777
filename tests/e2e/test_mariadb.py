"""Tables of a MariaDB by the command line: synced, changed, synced again, and proven equal by a check."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from incremental_assets.demo.mariadb import EmbeddedMariaDB

SOURCES = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  web:
    dialect: mariadb
    host: 127.0.0.1
    port: {port}
    database: web_shop
    user: web_reader
    password: {{env: WEB_PASSWORD}}
    tables:
      - "web_shop.orders:updated_at:timestamp!upsert"
      - "web_shop.events:id:integer!append"
"""
MAKE = (
    "CREATE TABLE orders (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, note varchar(20), price decimal(10,2), day date)",
    "ALTER TABLE orders ADD updated_at timestamp(6) NOT NULL DEFAULT NOW(6) ON UPDATE NOW(6), ADD KEY (updated_at)",
    "CREATE TABLE events (id bigint AUTO_INCREMENT PRIMARY KEY, what text, level double)",
    "CREATE TABLE kinds (code char(2) PRIMARY KEY, name enum('paper','ink'))",
    "INSERT INTO orders (note, price, day) VALUES ('a', 1.50, '2024-02-29'), ('b', 0.10, NULL), ('c', 3.00, '2024-00-15')",
    "INSERT INTO events (what, level) VALUES ('x', 0.1), ('y', NULL)",
    "INSERT INTO kinds VALUES ('p', 'paper'), ('i', 'ink')",
    "CREATE USER web_reader@'127.0.0.1' IDENTIFIED BY 'read only'",
    "GRANT PROCESS ON *.* TO web_reader@'127.0.0.1'",
    "GRANT SELECT ON web_shop.* TO web_reader@'127.0.0.1'",
)
CHANGE = (
    "UPDATE orders SET note = 'B' WHERE id = 2",
    "INSERT INTO orders (note, price) VALUES ('d', 4.00)",
    "INSERT INTO events (what) VALUES ('z')",
)


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [
            Path(sys.executable).with_name("incremental-assets"),
            *arguments,
            "--config",
            folder / "sources.yaml",
            "--json",
        ],
        env={**os.environ, "DAGSTER_HOME": str(folder), "WEB_PASSWORD": "read only"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def write(server: EmbeddedMariaDB, *statements: str) -> None:
    with server.connect("web_shop", sql_mode="ALLOW_INVALID_DATES") as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.acceptance
def test_tables_are_synced_changed_synced_again_and_proven_equal(
    tmp_path: Path, mariadb: EmbeddedMariaDB, spark: SparkSession
) -> None:
    (tmp_path / "sources.yaml").write_text(SOURCES.format(port=mariadb.port))
    mariadb.create_database("web_shop")
    write(mariadb, *MAKE)
    findings = run(tmp_path, "doctor")
    assert "MariaDB" in json.dumps(findings)
    first = {table["table"]: table for table in run(tmp_path, "sync")["tables"]}
    assert {name: table["guarantee"] for name, table in first.items()} == {
        "web_shop.orders": "settled",
        "web_shop.events": "settled",
        "web_shop.kinds": "settled",
    }
    assert first["web_shop.orders"]["rows"]["quarantined"] == 1, "a day that no calendar has"

    write(mariadb, *CHANGE)
    second = {table["table"]: table["rows"] for table in run(tmp_path, "sync")["tables"]}
    assert (second["web_shop.orders"]["inserted"], second["web_shop.orders"]["updated"]) == (1, 1)
    assert second["web_shop.events"]["inserted"] == 1

    landed = spark.read.format("delta").load(str(tmp_path / "lake" / "web" / "web_shop" / "orders"))
    assert sorted((int(row.id), row.note, str(row.price)) for row in landed.collect()) == [
        (1, "a", "1.50"),
        (2, "B", "0.10"),
        (4, "d", "4.00"),
    ]
    checks = run(tmp_path, "check")["checks"]
    assert {check["check"] for check in checks} >= {"reconciliation", "duplicates", "schema"}
    assert all(check["passed"] for check in checks)
