"""`sync`: every table ends in a report, and the exit status says what a script must do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from tests.cli.conftest import CONFIG, Call, Outside
from tests.scenario import COUNTRIES, COUNTRIES_SHAPE, ORDERS, monday, order, orders

ENTRY = {
    "source", "table", "strategy", "mode", "status", "guarantee", "guarantee_reason", "window", "previous_watermark", "new_watermark",
    "rows", "target_version", "by_spark", "seconds", "error",
}  # fmt: skip

ROWS = {"read", "inserted", "updated", "deleted", "unchanged", "late", "quarantined"}


def test_the_first_sync_lands_every_table_and_the_next_one_finds_nothing(call: Call, outside: Outside) -> None:
    monday(outside.world.database)

    first = call("sync", "--json")
    second = call("sync", "--json")

    assert (first.code, second.code) == (0, 0)
    assert {name: entry["status"] for name, entry in first.tables.items()} == {
        "public.orders": "landed",
        "public.countries": "landed",
    }
    assert {entry["status"] for entry in second.tables.values()} == {"idle"}
    assert first.tables["public.orders"]["rows"]["inserted"] == len(outside.world.database.rows(ORDERS))


def test_the_document_has_the_keys_that_others_script_against(call: Call, outside: Outside) -> None:
    monday(outside.world.database)

    said = call("sync", "--json")

    assert set(said.document) == {"run_id", "tables"}
    orders = said.tables["public.orders"]
    assert set(orders) >= ENTRY
    assert set(orders["rows"]) == ROWS
    assert set(orders["window"]) == {"lower", "upper", "settled"}
    assert (orders["source"], orders["mode"], orders["strategy"]) == ("shop", "sync", "upsert")


def test_what_moved_is_read_and_nothing_else(call: Call, synced: Outside) -> None:
    synced.world.database.tick(3600)
    order(synced.world.database, "alan", synced.world.database.stamp())

    said = call("sync", "--json")

    assert said.tables["public.orders"]["rows"]["inserted"] == 1
    assert said.tables["public.countries"]["status"] == "idle"


def test_eyes_get_a_table_and_one_sentence(call: Call, outside: Outside) -> None:
    monday(outside.world.database)

    first, second = call("sync"), call("sync")

    assert "shop.public.orders" in first.out
    assert "synced 2 tables" in first.out
    assert second.out.startswith(
        "nothing changed in 1 table; 1 table not looked at before 2024-01-30 09:13Z (`sync --now` looks)"
    )


def test_a_table_that_is_not_due_is_looked_at_on_request_and_says_until_then_that_nobody_looked(
    call: Call, synced: Outside
) -> None:
    synced.world.database.insert(COUNTRIES, code="at", name="Austria")

    left, looked = call("sync", "--json"), call("sync", "--now", "--json")

    assert left.tables["public.countries"]["status"] == "idle"
    assert left.tables["public.countries"]["next_look"].startswith("2024-01-30T09:1")
    assert left.tables["public.orders"]["next_look"] is None
    assert looked.tables["public.countries"]["status"] == "landed"
    assert looked.tables["public.countries"]["next_look"] is None


def test_deletes_that_are_not_looked_for_yet_are_said(call: Call, outside: Outside, config: Path) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        deletes: {mode: diff, every: 1d}"))
    monday(outside.world.database).abort()
    call("sync")

    idle, seen, found = call("sync"), call("sync", "--json"), call("status", "--json")

    assert idle.out.startswith(
        "nothing changed in 1 table; 1 table not looked at before 2024-01-30 09:13Z, "
        "deletes of 1 table not looked for before 2024-01-30 09:13Z (`sync --now` looks)"
    )
    assert seen.tables["public.orders"]["deletes_due"].startswith("2024-01-30T09:1")
    assert found.tables["public.orders"]["deletes_due"].startswith("2024-01-30T09:1")
    assert call("sync", "--now", "--json").tables["public.orders"]["deletes_due"] is None


def test_what_left_the_copy_is_counted_where_eyes_look(call: Call, outside: Outside, config: Path) -> None:
    followed = "strategy: upsert\n        deletes: {mode: diff, every: 0s, max_fraction: 0.9}"
    config.write_text(CONFIG.replace("strategy: upsert", followed))
    monday(outside.world.database).abort()
    call("sync")
    gone = outside.world.database.rows(ORDERS)[0]["id"]
    outside.world.database.delete(ORDERS, {"id": gone})
    outside.world.database.tick(3600)

    said = call("sync")

    heading, line = said.out.splitlines()[:2]
    assert heading.split()[:5] == ["table", "status", "read", "inserted", "updated"]
    assert line[heading.index("deleted") :].split()[0] == "1"
    assert ", 1 deleted" in said.out


def test_a_full_refresh_of_what_is_as_it_was_replaces_rows_and_deletes_none(call: Call, synced: Outside) -> None:
    rows = len(synced.world.rows(ORDERS))
    said = call("sync", "--full-refresh", "--select", "public.orders")

    heading, line = said.out.splitlines()[:2]
    end = heading.index("replaced") + len("replaced")
    assert line[:end].endswith(f" {rows}")
    assert line.split()[:4] == ["shop.public.orders", "landed", str(rows), str(rows)], "neither inserted nor deleted"
    assert f", {rows} replaced" in said.out
    assert "1 deleted" not in said.out


def test_a_full_refresh_of_fewer_rows_shows_how_many_went(call: Call, synced: Outside) -> None:
    gone = synced.world.database.rows(ORDERS)[0]["id"]
    synced.world.database.delete(ORDERS, {"id": gone})
    said = call("sync", "--full-refresh", "--select", "public.orders", "--json")
    rows = said.tables["public.orders"]["rows"]
    assert (rows["inserted"], rows["deleted"]) == (rows["read"], rows["read"] + 1), "the document counts as before"
    synced.world.database.delete(ORDERS, {"id": gone + 1})
    assert ", 1 deleted, 2 replaced" in call("sync", "--full-refresh", "--select", "public.orders").out


def test_a_pattern_that_matches_nothing_is_wrong_by_name(call: Call) -> None:
    said = call("sync", "--json", "--select", "public.odrers")

    assert said.code == 2
    assert "'public.odrers'" in said.document["error"]["message"]
    assert "public.orders" in said.err


def test_only_what_was_selected_is_synced(call: Call) -> None:
    assert set(call("sync", "--json", "--select", "public.c*").tables) == {"public.countries"}


def test_runs_that_moved_rows_are_seen_in_dagster(call: Call, outside: Outside) -> None:
    from dagster import AssetKey, DagsterInstance

    monday(outside.world.database)
    said = call("sync", "--json")

    with DagsterInstance.get() as instance:
        found = instance.get_latest_materialization_event(AssetKey(["shop", "public", "orders"]))
        run = instance.get_run_by_id(said.document["run_id"])
    assert found is not None
    assert run is not None
    assert run.tags["mode"] == "sync"


def test_two_sources_that_both_have_rows_are_synced_by_one_command(call: Call, outside: Outside, config: Path) -> None:
    from dagster import DagsterInstance

    another = CONFIG.partition("sources:\n")[2].partition("    tables:\n")[0].replace("shop:", "store:")
    config.write_text(CONFIG + another)
    in_store = replace(COUNTRIES_SHAPE, id=replace(COUNTRIES_SHAPE.id, source="store"))
    outside.world.database.create(in_store)
    outside.world.database.insert(in_store.id, code="fr", name="France")
    monday(outside.world.database)

    said = call("sync", "--json")

    statuses = {(entry["source"], entry["table"]): entry["status"] for entry in said.document["tables"]}
    assert statuses == {
        ("shop", "public.orders"): "landed",
        ("shop", "public.countries"): "landed",
        ("store", "public.countries"): "landed",
    }
    with DagsterInstance.get() as instance:
        sources = [run.tags["incremental_assets/source"] for run in instance.get_runs()]
        named = instance.get_run_by_id(said.document["run_id"])
    assert set(sources) == {"shop", "store"}
    assert named is not None
    assert named.tags["incremental_assets/source"] == "shop"


@pytest.mark.parametrize(
    "flag", ["--full-refresh", "--allow-shrink", "--follow", "--reset-watermarks", "--yes", "--select"]
)
def test_every_flag_is_explained(call: Call, flag: str) -> None:
    assert flag in call("sync", "--help").out


def test_an_idle_table_costs_no_lease_and_all_of_them_one_transaction(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.world.pass_time(3600)
    writes, begin = [], Database.transaction

    @contextmanager
    def counted(self: Database, *, writes: bool = False, seen: list[bool] = writes) -> Iterator[Connection]:
        seen.append(writes)
        with begin(self, writes=writes) as connection:
            yield connection

    monkeypatch.setattr(Database, "transaction", counted)
    monkeypatch.setattr(SqlCheckpoints, "lease", None)

    said = call("sync", "--json")

    assert {entry["status"] for entry in said.tables.values()} == {"idle"}
    assert writes.count(True) == 2, "one for the catalogue, one for all tables"


def test_rows_of_a_contract_that_is_configured_no_more_are_told_whether_rows_move_or_not(
    call: Call, outside: Outside
) -> None:
    monday(outside.world.database)
    outside.world.lake.hold(orders(), [{"id": 7, "status": None}], 0)
    for status in ("landed", "idle"):
        said = call("sync", "--json").tables["public.orders"]
        assert said["status"] == status
        assert said["warnings"][-1] == (
            "1 row is held in quarantine: broken (1); the contract is no longer configured: "
            "`incremental-assets replay --select shop.public.orders` reads again what it holds"
        )
