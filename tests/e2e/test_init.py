"""From an empty folder to landed tables in three commands: `init`, `plan`, `sync`; and each does what the one before has said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from pyspark.sql import functions as sf

from incremental_assets.demo.postgres import EmbeddedPostgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAKE = """
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.updated_at := now(); RETURN NEW; END $$;
CREATE TABLE "Order" (id bigserial PRIMARY KEY, note text, tags text[], updated_at timestamptz NOT NULL DEFAULT now());
CREATE TRIGGER touch BEFORE UPDATE ON "Order" FOR EACH ROW EXECUTE FUNCTION touch();
CREATE INDEX ON "Order" (updated_at);
CREATE TABLE event (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), what text);
CREATE TABLE country (code char(2) PRIMARY KEY, name text);
CREATE VIEW latest AS SELECT max(id) AS id FROM event;
INSERT INTO "Order" (note, tags) SELECT 'note ' || n, ARRAY['a', 'b'] FROM generate_series(1, 500) AS n;
DO $$ BEGIN FOR n IN 1..12000 LOOP INSERT INTO event (what) VALUES (repeat('x', 100)); COMMIT; END LOOP; END $$;
INSERT INTO country VALUES ('fr', 'France'), ('nl', 'Netherlands');
ANALYZE;
SELECT pg_stat_force_next_flush();
"""


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    """As typed in the folder, with no configuration named."""
    named = {name: value for name, value in os.environ.items() if name != "INCREMENTAL_ASSETS_CONFIG"}
    done = subprocess.run(
        [str(Path(sys.executable).with_name("incremental-assets")), *arguments, "--json"],
        cwd=folder,
        env={**named, "DAGSTER_HOME": str(folder / "dagster"), "DAGSTER_DISABLE_TELEMETRY": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.acceptance
def test_three_commands_land_a_database_that_nobody_has_configured(
    postgres: EmbeddedPostgres, database: str, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(postgres.dsn(database), autocommit=True) as admin:
        for statement in MAKE.split(";\n"):
            admin.execute(statement.encode())
        admin.execute("SELECT pg_stat_clear_snapshot()")
    address = f"postgresql://{postgres.user}@127.0.0.1:{postgres.port}/{database}"
    monkeypatch.setenv(f"{database.upper()}_PASSWORD", postgres.password)

    run(tmp_path, "init", address)
    told = {entry["table"]: entry for entry in run(tmp_path, "plan")["tables"]}
    done = {entry["table"]: entry for entry in run(tmp_path, "sync")["tables"]}

    assert {name: entry["strategy"] for name, entry in done.items()} == {
        "public.Order": "upsert",
        "public.event": "append",
        "public.country": "full_refresh",
    }
    assert {entry["action"] for entry in told.values()} == {"read"}
    assert {name: entry["rows"]["inserted"] for name, entry in done.items()} == {
        "public.Order": 500,
        "public.event": 12_000,
        "public.country": 2,
    }
    assert {entry["source_read"]["rows"] for entry in told.values()} == {500, 12_000, 2}
    copy = spark.read.format("delta").load(str(tmp_path / "lake" / database / "public" / "Order"))
    assert copy.select(sf.count_distinct("id")).first() == (500,)
    assert {entry["action"] for entry in run(tmp_path, "plan")["tables"]} == {"nothing"}
