"""A SQLite file by the command line: synced, changed, synced again, and proven equal by a check."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = """
lake: ./lake
checkpoints: sqlite:///checkpoints.db
sources:
  app:
    dialect: sqlite
    database: app.db
    tables:
      - "main.orders:updated_at:datetime!upsert"
      - "main.events:id:integer!append"
"""
MAKE = """
PRAGMA journal_mode = WAL;
CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT, price REAL, updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TRIGGER touch AFTER UPDATE ON orders FOR EACH ROW WHEN NEW.updated_at = OLD.updated_at
BEGIN UPDATE orders SET updated_at = CURRENT_TIMESTAMP WHERE id = NEW.id; END;
CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT);
INSERT INTO orders (note, price) VALUES ('a', 1.5), ('b', 0.1), ('c', 'cheap');
INSERT INTO events (what) VALUES ('x'), ('y');
"""
CHANGE = """
UPDATE orders SET note = 'B', updated_at = datetime('now', '+1 second') WHERE id = 2;
INSERT INTO orders (note, price, updated_at) VALUES ('d', 4.0, datetime('now', '+1 second'));
INSERT INTO events (what) VALUES ('z');
"""


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [
            Path(sys.executable).with_name("incremental-assets"),
            *arguments,
            "--config",
            folder / "sources.yaml",
            "--json",
        ],
        env={**os.environ, "DAGSTER_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def write(folder: Path, script: str) -> None:
    connection = sqlite3.connect(folder / "app.db")
    connection.executescript(script)
    connection.close()


@pytest.mark.acceptance
def test_a_file_is_synced_changed_synced_again_and_proven_equal(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "sources.yaml").write_text(SOURCES)
    write(tmp_path, MAKE)
    first = {table["table"]: table for table in run(tmp_path, "sync")["tables"]}
    assert {name: table["guarantee"] for name, table in first.items()} == {
        "main.orders": "settled",
        "main.events": "settled",
    }
    assert first["main.orders"]["rows"]["quarantined"] == 1, "a text in a column of numbers"

    write(tmp_path, CHANGE)
    second = {table["table"]: table["rows"] for table in run(tmp_path, "sync")["tables"]}
    assert (second["main.orders"]["inserted"], second["main.orders"]["updated"]) == (1, 1)
    assert second["main.events"]["inserted"] == 1

    landed = spark.read.format("delta").load(str(tmp_path / "lake" / "app" / "main" / "orders"))
    assert sorted(map(tuple, landed.select("id", "note", "price").collect())) == [
        (1, "a", 1.5),
        (2, "B", 0.1),
        (4, "d", 4.0),
    ]
    checks = run(tmp_path, "check")["checks"]
    assert {check["check"] for check in checks} >= {"reconciliation", "duplicates", "schema"}
    assert all(check["passed"] for check in checks)
