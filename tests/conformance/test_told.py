"""T32, T33: what a person is told: which tables are taken, what a check has found and where it is seen, and words that lead on."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dagster import AssetCheckKey, AssetKey, DagsterInstance

from incremental_assets.defs.tick import Memory
from incremental_assets.demo.postgres import EmbeddedPostgres
from tests.conformance.scenario import scenario
from tests.shop import Shop

COLUMNS = "id int PRIMARY KEY, note text, at timestamptz NOT NULL DEFAULT now()"


def _document(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    assert "error" not in found, (found, result.stderr)
    return found


def _tables(shop: Shop, command: str) -> dict[str, dict[str, Any]]:
    return {table["table"]: table for table in _document(shop.run(command, "--json"))["tables"]}


@scenario(
    "T32",
    "Tables are left out of `unlisted: full_refresh` by `exclude` with a pattern, and one line of the list has direction `e`",
    holds="nobody reads or names those that are left out; the one with direction `e` is out of the incremental sync and is read whole",
)
def test_tables_that_are_left_out(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    listed = '- "public.orders:at:timestamp!upsert"\n- "public.audit:at:timestamp:e"'
    shop = Shop.open(postgres, database, tmp_path, listed, options='exclude: ["scratch_*", public.secrets]')
    names = ("orders", "audit", "countries", "scratch_1", "scratch_2", "secrets")
    shop.execute(*(f"CREATE TABLE {name} ({COLUMNS})" for name in names))
    shop.execute(*(f"INSERT INTO {name} VALUES (1, 'a')" for name in names), "REVOKE SELECT ON secrets FROM reader")

    synced = shop.sync()
    assert {name: table["strategy"] for name, table in synced.items()} == {
        "public.orders": "upsert",
        "public.audit": "full_refresh",
        "public.countries": "full_refresh",
    }
    assert set(_tables(shop, "status")) == set(synced)
    assert not [name for name in names[3:] if shop.lake(name).exists()]


@scenario(
    "T32",
    "A row changes in the source without a new stamp; `check` is run on the command line, its table is backfilled, and it is checked again; the table is partitioned by weeks",
    holds="what failed is printed first and the sum last, `--failed` prints it alone; Dagster shows each verdict as it was printed; after the backfill "
    "`status` tells no drift; weeks begin with the table's first row, and say on which day",
)
def test_a_check_on_the_command_line(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    listed = (
        "- {table: public.orders, cursor: {column: at, type: timestamp}, strategy: upsert, partitions: {every: week}}"
    )
    shop = Shop.open(postgres, database, tmp_path, listed, options="unlisted: ignore")
    shop.execute(
        f"CREATE TABLE orders ({COLUMNS})", "INSERT INTO orders VALUES (1, 'a', '2024-01-10Z'), (2, 'b', '2024-01-17Z')"
    )
    shop.sync()
    shop.execute("UPDATE orders SET note = 'quietly' WHERE id = 1")

    printed = shop.run("check")
    lines = printed.stdout.splitlines()
    assert (printed.returncode, lines[1].split()[:3]) == (1, ["shop.public.orders", "reconciliation", "failed"]), (
        printed
    )
    assert lines[-1] == "2 of 3 checks passed, 1 failed (1 table)"
    (failed,) = _document(shop.run("check", "--failed", "--json"))["checks"]
    assert (failed["check"], _in_dagster(shop, "reconciliation")) == ("reconciliation", (False, failed["detail"]))

    coverage = _tables(shop, "coverage")["public.orders"]
    assert (coverage["week_begins_on"], coverage["partitions"][0]) == ("Sunday", "2024-01-07")
    assert _tables(shop, "status")["public.orders"]["drift"] == 1
    mended = shop.run("backfill", "--select", "public.orders", "--from", "2024-01-07", "--to", "2024-01-14")
    assert mended.returncode == 0, mended
    assert _tables(shop, "status")["public.orders"]["drift"] == 0
    checked = shop.run("check", "--json")
    assert (checked.returncode, _in_dagster(shop, "reconciliation")[0]) == (0, True), checked


def _in_dagster(shop: Shop, check: str) -> tuple[bool, str]:
    """What its UI shows of the last verdict."""
    key = AssetCheckKey(AssetKey(["shop", "public", "orders"]), check)
    home = shop.environment["DAGSTER_HOME"]
    with pytest.MonkeyPatch.context() as patch, DagsterInstance.from_config(_named(patch, home)) as instance:
        record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
        assert record.event is not None
        assert record.event.dagster_event is not None
        evaluation = record.event.dagster_event.asset_check_evaluation_data
        return evaluation.passed, evaluation.description or ""


@scenario(
    "T33",
    "Keys that are declared come twice; a copy is asked about before its first sync; a line of the list has two mistakes; the checkpoint database is a file of something else; a table is reset without consent",
    holds="the keys are named; nothing is said of a lag that nobody knows; both mistakes are told, with their line; the file is named for what it is; "
    "what is added to a refused command makes it work",
)
def test_words_that_lead_on(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    listed = "- {table: public.visits, cursor: {column: at, type: timestamp}, strategy: upsert, primary_key: [who]}"
    shop = Shop.open(postgres, database, tmp_path, listed, options="unlisted: ignore")
    shop.execute(
        "CREATE TABLE visits (who text NOT NULL, at timestamptz NOT NULL DEFAULT now())",
        "INSERT INTO visits VALUES ('ada', '2024-01-10Z'), ('ada', '2024-01-11Z'), ('alan', '2024-01-10Z')",
    )
    right = shop.config.read_text()
    assert _tables(shop, "status")["public.visits"]["watermark"] is None
    assert "never" in shop.run("status").stdout

    told = " ".join(shop.sync()["public.visits"]["warnings"])
    assert "such as ada" in told, told

    shop.config.write_text(right.replace(listed, '- "public.visits:at:moment:sideways"'))
    wrong = shop.run("sync")
    assert (wrong.returncode, "moment" in wrong.stderr, "sideways" in wrong.stderr) == (2, True, True), wrong.stderr
    assert f"{shop.config}:" in wrong.stderr

    shop.config.write_text(right.replace("checkpoints.db", "notes.txt"))
    (shop.folder / "notes.txt").write_text("milk, bread, a file that is no database at all\n" * 200)
    other = shop.run("status")
    assert (other.returncode, "notes.txt" in other.stderr, "try again" in other.stderr) == (1, True, False), (
        other.stderr
    )

    shop.config.write_text(right)
    command = ["reset", "--select", "shop.public.visits"]
    refused = shop.run(*command)
    assert (refused.returncode, "add --yes" in refused.stderr) == (3, True), refused
    assert shop.run(*command, "--yes").returncode == 0
    assert shop.sync()["public.visits"]["status"] == "landed"


_TICK = """
import json, sys
from dagster import DagsterInstance, build_sensor_context
from incremental_assets.definitions import defs
repository = defs.load_fn().get_repository_def()
(sensor,) = repository.sensor_defs
with DagsterInstance.get() as instance:
    kept = {"runtime": repository.get_top_level_resources()["runtime"]}
    with build_sensor_context(instance=instance, cursor=sys.argv[1], repository_def=repository, resources=kept) as context:
        found = sensor.evaluate_tick(context)
print(json.dumps([key.path[-1] for run in found.run_requests or [] for key in run.asset_selection or []]))
"""


@scenario(
    "T33",
    "The runs that the sensor asked for have failed 24 times in a row; then the cause is mended",
    holds="the table is asked for again within the hour, without a hand, and its row lands",
)
def test_a_table_that_has_failed_for_a_day(postgres: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    shop = Shop.open(postgres, database, tmp_path, '- "public.orders:at:timestamp!upsert"', options="unlisted: ignore")
    shop.execute(f"CREATE TABLE orders ({COLUMNS})", "INSERT INTO orders VALUES (1, 'a')")
    shop.sync()
    shop.execute("REVOKE SELECT ON orders FROM reader")
    assert shop.run("sync").returncode == 1
    shop.execute("GRANT SELECT ON orders TO reader", "INSERT INTO orders VALUES (2, 'b')")

    now = datetime.now(UTC).timestamp()
    waits, is_over = (Memory(waiting={"shop.public.orders": (24, now + left)}).write() for left in (3000, -1))
    assert _asked(shop, waits) == []
    assert _asked(shop, is_over) == ["orders"]
    assert shop.sync()["public.orders"]["rows"]["inserted"] == 1


def _asked(shop: Shop, cursor: str) -> list[str]:
    """The tables of the runs that a tick of the sensor asks for, in a process of its own."""
    tick = subprocess.run(
        [sys.executable, "-c", _TICK, cursor], env=shop.environment, capture_output=True, text=True, check=False
    )
    assert tick.returncode == 0, tick.stderr
    found: list[str] = json.loads(tick.stdout)
    return found


def _named(patch: pytest.MonkeyPatch, home: str) -> str:
    """The home, in the environment as well, where `dagster.yaml` looks for it."""
    patch.setenv("DAGSTER_HOME", home)
    return home
