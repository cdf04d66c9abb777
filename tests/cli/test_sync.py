"""`sync`: every table ends in a report, and the exit status says what a script must do about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from incremental_assets.adapters.checkpoints.database import Database
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.core.config.load import load
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.compaction import Layout
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.events import EventKind
from tests.cli.conftest import CONFIG, Call, Outside, Probe
from tests.fakes import FakeLake
from tests.scenario import COUNTRIES, COUNTRIES_SHAPE, ORDERS, monday, order, orders

ENTRY = {
    "source", "table", "strategy", "mode", "status", "guarantee", "guarantee_reason", "window", "previous_watermark", "new_watermark",
    "rows", "target_version", "seconds", "error",
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
    assert second.out.startswith("nothing changed in 2 tables")


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


def test_a_table_that_cannot_be_resolved_fails_and_the_others_go_on(call: Call, config: Path) -> None:
    config.write_text(CONFIG + '      - "public.returns:at:timestamp"\n')

    said = call("sync", "--json")

    assert said.code == 1
    assert said.tables["public.returns"]["status"] == "failed"
    assert "this user can see no such table" in said.tables["public.returns"]["error"]
    assert said.tables["public.orders"]["status"] == "landed"


def test_a_source_that_does_not_answer_fails_the_tables_that_are_known(call: Call, outside: Outside) -> None:
    call("sync")
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("sync", "--json")

    assert said.code == 1
    assert {name: entry["error"] for name, entry in said.tables.items()} == {
        "public.orders": "shop: localhost:5432 does not answer",
        "public.countries": "shop: localhost:5432 does not answer",
    }


def test_a_source_that_never_answered_still_has_its_listed_tables(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    assert set(call("sync", "--json").tables) == {"public.orders"}


def test_a_look_that_fails_unforeseen_ends_in_a_report_of_each_table_and_not_the_command(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lowest(*_: object) -> None:
        raise KeyError("Mars/Olympus")

    monkeypatch.setattr(Probe, "lowest", lowest)

    said = call("sync", "--json")

    assert said.code == 1
    assert {name: entry["error"] for name, entry in said.tables.items()} == {
        "public.orders": "shop.public.orders: unexpected KeyError: 'Mars/Olympus'",
        "public.countries": "shop.public.countries: unexpected KeyError: 'Mars/Olympus'",
    }


def test_busy_is_4_when_nothing_worse_happened(call: Call, config: Path, synced: Outside) -> None:
    order(synced.world.database, "alan", synced.world.database.stamp())
    memory = SqlCheckpoints(load(config).checkpoints)
    with memory.lease(ORDERS, "another run"):
        said = call("sync", "--json")

    assert said.code == 4
    assert said.tables["public.orders"]["status"] == "busy"
    assert said.tables["public.countries"]["status"] == "idle"


def test_a_source_that_another_run_works_on_is_not_said_to_be_a_table_that_is_synced(
    call: Call, outside: Outside
) -> None:
    from dagster import DagsterInstance, DagsterRun, DagsterRunStatus

    from incremental_assets.cli.orphaned_runs import process_tag
    from incremental_assets.defs.names import pool

    monday(outside.world.database)
    call("sync", "--select", "public.countries")
    with DagsterInstance.get() as instance:
        run = instance.add_run(DagsterRun(job_name="sync", status=DagsterRunStatus.STARTED, tags=process_tag()))
        instance.event_log_storage.set_concurrency_slots(pool("shop"), 1)
        assert instance.event_log_storage.claim_concurrency_slot(pool("shop"), run.run_id, "step").is_claimed
        said = call("sync", "--json")

    error = said.tables["public.orders"]["error"]
    assert (said.code, said.tables["public.orders"]["status"]) == (4, "busy")
    assert f"run {run.run_id} of Dagster is working on the source 'shop'" in error
    assert "is syncing this table" not in error


def test_busy_is_not_hidden_where_nothing_moved(call: Call, config: Path) -> None:
    call("sync")
    with SqlCheckpoints(load(config).checkpoints).lease(COUNTRIES, "another run"):
        said = call("sync", "--json")

    assert (said.code, said.tables["public.countries"]["status"]) == (4, "busy")


def test_a_table_that_has_landed_is_not_busy_because_another_run_takes_it_before_its_files_are_put_together(
    call: Call, config: Path, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday(outside.world.database)
    memory = SqlCheckpoints(load(config).checkpoints)
    with ExitStack() as other:

        def layout(self: FakeLake, spec: TableSpec) -> Layout:
            other.enter_context(memory.lease(ORDERS, "another run"))
            return Layout((1000,) * 100, 100, 100)

        monkeypatch.setattr(FakeLake, "layout", layout)
        said = call("sync", "--json")

    assert (said.code, said.tables["public.orders"]["status"]) == (0, "landed")


def test_a_full_refresh_of_an_append_table_is_refused_by_name(call: Call, config: Path) -> None:
    config.write_text(CONFIG.replace("upsert", "append"))
    call("sync")

    refused = call("sync", "--full-refresh", "--json")
    meant = call("sync", "--full-refresh", "--yes", "--json")

    assert refused.code == 3
    assert "shop.public.orders" in refused.document["error"]["message"]
    assert meant.code == 0
    assert meant.tables["public.orders"]["mode"] == "full_refresh"


def test_a_full_refresh_of_a_table_that_was_append_when_it_landed_is_refused_as_well(call: Call, config: Path) -> None:
    """Its versions go as well, whatever the configuration calls it by now; the printed cure works as it is printed."""
    config.write_text(CONFIG.replace("upsert", "append"))
    call("sync")
    config.write_text(CONFIG)

    stopped = call("sync", "--json").tables["public.orders"]
    refused = call("sync", "--select", "shop.public.orders", "--full-refresh", "--json")

    assert "sync --select shop.public.orders --full-refresh --yes`" in stopped["error"]
    assert refused.code == 3
    assert call("sync", "--select", "shop.public.orders", "--full-refresh", "--yes", "--json").code == 0
    assert call("sync", "--select", "shop.public.orders", "--full-refresh", "--json").code == 0


def test_shrinking_must_be_meant(call: Call) -> None:
    assert call("sync", "--allow-shrink").code == 3


def test_an_emptied_source_is_refused_until_it_is_meant(call: Call, outside: Outside) -> None:
    database = outside.world.database
    for code in ("at", "be", "ch", "de"):
        database.insert(COUNTRIES, code=code, name=code.upper())
    call("sync")
    database.tick(2 * 86_400)
    for code in ("at", "be", "ch"):
        database.delete(COUNTRIES, {"code": code})

    refused = call("sync", "--json", "--select", "public.countries")
    meant = call("sync", "--json", "--select", "public.countries", "--allow-shrink", "--yes")

    assert refused.code == 3
    assert refused.tables["public.countries"]["status"] == "refused"
    assert "--allow-shrink" in refused.tables["public.countries"]["error"]
    assert meant.code == 0


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


@pytest.mark.parametrize("flag", ["--full-refresh", "--allow-shrink", "--reset-watermarks", "--yes", "--select"])
def test_every_flag_is_explained(call: Call, flag: str) -> None:
    assert flag in call("sync", "--help").out


def test_another_database_at_the_address_stops_the_table(call: Call, synced: Outside) -> None:
    synced.world.database.exchange()

    said = call("sync", "--json", "--select", "public.orders")

    assert said.code == 1
    assert "another database answers" in said.tables["public.orders"]["error"]


def test_a_table_without_a_grant_fails_by_name_and_the_others_go_on(call: Call, outside: Outside) -> None:
    secret = replace(COUNTRIES, name="secret")
    outside.world.database.create(replace(COUNTRIES_SHAPE, id=secret, columns=(), readable=False))

    said, status, checked = call("sync", "--json"), call("status", "--json"), call("check", "--json")

    assert said.code == 1
    assert said.tables["public.secret"]["status"] == "failed"
    assert "may not read this table" in said.tables["public.secret"]["error"]
    assert said.tables["public.orders"]["status"] == "landed"
    assert "may not read this table" in status.tables["public.secret"]["error"]
    assert checked.code == 1
    assert "public.secret" in {entry["table"] for entry in checked.document["checks"]}


def test_a_table_that_the_source_has_dropped_is_missed_until_it_is_excluded(
    call: Call, config: Path, outside: Outside
) -> None:
    call("sync")
    del outside.world.database.tables[COUNTRIES]

    said, status, offline = call("sync", "--json"), call("status", "--json"), call("status", "--json", "--offline")

    assert said.code == 1
    assert "its copy stays as it is" in said.tables["public.countries"]["error"]
    for looked in (status, offline):
        assert "its copy stays as it is" in looked.tables["public.countries"]["error"]
    config.write_text(CONFIG.replace("    tables:", "    exclude: [countries]\n    tables:"))
    assert set(call("sync", "--json").tables) == {"public.orders"}


def test_a_schema_that_does_not_exist_is_a_failure_by_name(call: Call, config: Path) -> None:
    config.write_text(CONFIG.replace("    tables:", "    schemas: [public, publc]\n    tables:"))

    said, status, checked = call("sync", "--json"), call("status", "--json"), call("check", "--json")

    for told in (said, status, checked):
        (problem,) = told.document["problems"]
        assert problem["source"] == "shop"
        assert "no schema 'publc'" in problem["sentence"]
    assert (said.code, status.code, checked.code) == (1, 0, 1)
    assert said.tables["public.orders"]["status"] == "landed"
    assert "no schema 'publc'" in call("sync").out


def test_a_source_that_never_answered_and_lists_nothing_is_no_success(
    call: Call, config: Path, outside: Outside
) -> None:
    config.write_text(CONFIG.partition("    tables:")[0])
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("sync", "--json")

    assert said.code == 1
    assert said.document["problems"] == [{"source": "shop", "sentence": "shop: localhost:5432 does not answer"}]


def test_a_sync_that_fails_before_it_begins_leaves_a_row_with_its_sentence(
    call: Call, config: Path, outside: Outside
) -> None:
    call("sync")
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")
    call("sync")

    memory = SqlCheckpoints(load(config).checkpoints)
    for table in (ORDERS, COUNTRIES):
        last = memory.history(table)[-1].event
        assert (last.kind, last.detail) == (EventKind.FAILED, "shop: localhost:5432 does not answer")
    assert memory.position(ORDERS).state is not None, "what had landed stays"
    assert call("status", "--json", "--offline").tables["public.orders"]["last_status"] == "failed"


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
