"""`plan`: what the next sync will do is told before it, as that sync then does it, and nothing is written."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from incremental_assets.adapters.checkpoints import schema
from incremental_assets.adapters.checkpoints.store import SqlCheckpoints
from incremental_assets.cli import previews
from incremental_assets.cli.answer import Grid
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.preview.preview import Preview
from tests.cli.conftest import CONFIG, Call, Outside, Probe
from tests.core.test_log_capture import SPEC, loaded, to_read
from tests.fakes import FakeLake
from tests.scenario import COUNTRIES, COUNTRIES_SHAPE, ORDERS, ORDERS_SHAPE, monday, order, tuesday

ENTRY = {
    "within_seconds",
    "source", "table", "strategy", "cursor", "key", "compares", "action", "reason", "next_look", "window", "previous_watermark", "new_watermark", "guarantee",
    "guarantee_reason", "source_read", "schema", "files", "where", "masks", "deletes", "contract", "history", "register", "prunes", "destructive", "warnings", "error",
}  # fmt: skip


def written(folder: Path) -> dict[str, str]:
    """Every file and what it holds."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_before_the_first_sync_nothing_is_made_not_even_the_checkpoint_table(
    call: Call, outside: Outside, tmp_path: Path
) -> None:
    monday(outside.world.database)
    before = written(tmp_path)

    said = call("plan", "--json")

    assert said.code == 0
    assert written(tmp_path) == before
    orders = said.tables["public.orders"]
    assert set(orders) == ENTRY
    assert (orders["action"], orders["window"]["lower"], orders["files"]["outcome"]) == ("read", None, "new files")
    assert orders["schema"]["outcome"] == "the copy is made with 4 columns"


def test_what_a_copy_for_any_reader_costs_is_told(call: Call, outside: Outside, config: Path) -> None:
    clerk = monday(outside.world.database)
    call("sync")
    tuesday(outside.world.database, clerk)

    def files() -> str:
        return str(call("plan", "--json", "--select", "public.orders").tables["public.orders"]["files"]["outcome"])

    assert files() == "new files; rows are marked as deleted in at most 1 file"
    config.write_text(CONFIG.replace("strategy: upsert\n", "strategy: upsert\n        copies: {readers: any}\n", 1))
    assert files() == "new files; at most 1 file with a row that changes are written anew"


def test_after_a_sync_the_checkpoints_and_the_lake_stay_as_they_were_and_no_lease_is_taken(
    call: Call, outside: Outside, config: Path, tmp_path: Path
) -> None:
    clerk = monday(outside.world.database)
    call("sync")
    tuesday(outside.world.database, clerk)
    checkpoints = SqlCheckpoints(f"sqlite:///{tmp_path / 'checkpoints.db'}")
    with checkpoints.lease(ORDERS, "another run"):
        before, events = written(tmp_path / "lake"), checkpoints.history(ORDERS)
        version = outside.world.lake.tables[ORDERS].version

        said = call("plan", "--json", "--select", "public.orders")

        assert said.code == 0
        assert (written(tmp_path / "lake"), checkpoints.history(ORDERS)) == (before, events)
    assert outside.world.lake.tables[ORDERS].version == version
    checkpoints.close()


def test_the_sync_does_what_the_plan_has_told(call: Call, outside: Outside) -> None:
    clerk = monday(outside.world.database)
    call("sync")
    tuesday(outside.world.database, clerk)

    told = call("plan", "--json").tables["public.orders"]
    done = call("sync", "--json").tables["public.orders"]

    same = ("window", "previous_watermark", "new_watermark", "guarantee", "guarantee_reason", "warnings")
    assert {name: told[name] for name in same} == {name: done[name] for name in same}
    assert (told["action"], done["status"]) == ("read", "landed")


def test_a_table_in_which_nothing_moved_is_left_alone_and_says_why(call: Call, outside: Outside) -> None:
    outside.world.database.tick(600)
    call("sync")

    said = call("plan", "--json")

    assert {name: (entry["action"], entry["source_read"]) for name, entry in said.tables.items()} == {
        "public.orders": ("nothing", None),
        "public.countries": ("nothing", None),
    }
    assert said.tables["public.countries"]["reason"].startswith("not due before")


def test_a_copy_that_would_be_replaced_is_a_destructive_step_with_its_rows(call: Call, outside: Outside) -> None:
    outside.world.database.insert(COUNTRIES, code="fr", name="France")
    outside.world.database.insert(COUNTRIES, code="nl", name="Netherlands")
    call("sync")
    outside.world.database.tick(2 * 86_400)

    said = call("plan", "--json")

    assert said.tables["public.countries"]["destructive"] == [
        "replaces the 2 rows of the copy; fewer than 1 in the source stop it"
    ]
    assert said.tables["public.orders"]["destructive"] == []
    assert "replaces the 2 rows of the copy" in call("plan").out


def test_a_comparison_of_keys_that_is_due_is_told_with_what_it_may_remove(
    call: Call, outside: Outside, config: Path
) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        deletes: {mode: diff, every: 1h}"))
    monday(outside.world.database)
    call("sync")
    order(outside.world.database, "alan", outside.world.database.stamp())
    early = call("plan", "--json").tables["public.orders"]
    outside.world.database.tick(3600)
    due = call("plan", "--json").tables["public.orders"]

    assert early["deletes"].startswith("compared again from 2024-01-29")
    assert early["destructive"] == []
    assert due["deletes"] == (
        "due: keys are compared, and rows that are gone are removed from the copy, unless they are more than 20%"
    )
    assert due["destructive"] == ["removes rows whose key is gone from the source, unless they are more than 20%"]


def test_a_condition_is_told_where_a_table_has_nothing_else(call: Call, outside: Outside, config: Path) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        where: id IN (1, 2)"))
    monday(outside.world.database)

    assert "shop.public.orders: where: only rows with id IN (1, 2) are read" in call("plan").out


CONTRACT = """strategy: upsert
        where: id >= 0
        history: scd2
        contract: {id: {ge: 1}, customer: {nullable: false, isin: [ada, alan]}}
        on_breach: fail"""


def test_contract_and_history_are_told_whether_rows_move_or_not(call: Call, outside: Outside, config: Path) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", CONTRACT))
    monday(outside.world.database)
    told, seen = call("plan", "--json").tables["public.orders"], call("plan").out

    assert told["contract"] == {
        "model": None,
        "rules": {"id": {"ge": 1}, "customer": {"nullable": False, "isin": ["ada", "alan"]}},
        "on_breach": "fail",
        "max_fraction": None,
    }
    assert (told["where"], told["history"]) == ("id >= 0", "scd2")
    assert "if a row breaks it, nothing lands" in seen
    assert "each version with its time is kept in shop.public.orders__history" in seen
    assert "where: only rows with id >= 0 are read; one that no longer is such a row stays in the copy" in " ".join(
        seen.split()
    )
    call("sync")
    idle = call("plan", "--json").tables["public.orders"]
    assert (idle["action"], idle["contract"], idle["deletes"]) == ("nothing", told["contract"], "not followed")


def without_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy landed before the source had `status`, and has a column that the source has no more."""
    there = (("id", "bigint"), ("customer", "string"), ("updated_at", "timestamp"), ("fax", "string"))
    monkeypatch.setattr(FakeLake, "columns", lambda _self, _spec: there)


def test_a_changed_schema_is_told_with_what_becomes_of_it(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    order(synced.world.database, "alan", synced.world.database.stamp())
    without_status(monkeypatch)

    found = call("plan", "--json").tables["public.orders"]["schema"]

    assert (found["added"], found["dropped"]) == ([{"name": "status", "type": "string"}], ["fax"])
    assert found["outcome"] == (
        "'status' is added to the copy; for rows that landed before, key, cursor and these columns are then read, at most 4,000,000 rows in a sync; "
        "'fax' stays in the copy, NULL in rows that land from now on"
    )


def test_a_column_that_is_left_out_is_told_before_it_in_the_report_and_in_the_status(
    call: Call, synced: Outside, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tuple((each.name, each.spark_type) for each in ORDERS_SHAPE.columns)
    monkeypatch.setattr(FakeLake, "columns", lambda _self, _spec: there)
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        columns: {exclude: [status]}"))
    order(synced.world.database, "alan", synced.world.database.stamp())

    told = call("plan", "--json").tables["public.orders"]["schema"]["outcome"]
    (done,) = call("sync", "--json").tables["public.orders"]["schema_changes"]
    kept = call("status", "--json").tables["public.orders"]["last_schema_change"]

    assert told == "'status' stays in the copy, NULL in rows that land from now on, as `columns` says"
    assert done == {"column": "status", "change": "excluded", "before": "string", "after": None, "rule": "columns"}
    assert kept == {"at": kept["at"], **done}
    assert "last change of its columns" in call("status").out


def rename_status(outside: Outside) -> None:
    """In the source, to `state`."""
    table = outside.world.database.tables[ORDERS]
    columns = tuple(replace(each, name="state") if each.name == "status" else each for each in ORDERS_SHAPE.columns)
    table.shape = replace(table.shape, columns=columns)
    table.rows = {
        number: replace(row, values={{"status": "state"}.get(name, name): value for name, value in row.values.items()})
        for number, row in table.rows.items()
    }


def test_a_rename_is_told_before_it_though_no_row_has_moved_and_the_sync_does_it(
    call: Call, outside: Outside, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday(outside.world.database).commit()
    outside.world.database.tick(60)
    call("sync")
    rename_status(outside)
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        rename: {status: state}"))

    told = call("plan", "--json").tables["public.orders"]["schema"]
    shown = call("plan").out
    done = call("sync", "--json").tables["public.orders"]

    assert told["renamed"] == [{"was": "status", "now": "state"}]
    assert (told["added"], told["dropped"]) == ([], [])
    assert told["outcome"] == "renamed first: 'status' to 'state'; rows keep their values, and no file is written"
    assert "renamed first" in shown
    assert done["schema_changes"] == [
        {"column": "state", "change": "renamed", "before": "status", "after": "state", "rule": "rename"}
    ]
    assert call("plan", "--json").tables["public.orders"]["schema"] is None


def test_a_rename_that_is_told_too_late_is_said_by_every_command_that_looks(
    call: Call, outside: Outside, config: Path
) -> None:
    monday(outside.world.database).commit()
    outside.world.database.tick(60)
    call("sync")
    rename_status(outside)
    call("sync")
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        rename: {status: state}"))
    for command in ("plan", "status", "sync"):
        (warning,) = call(command, "--json").tables["public.orders"]["warnings"]
        assert "taken 'state' for a new column" in warning, command
        assert "taken 'state' for a new column" in call(command).out.replace("\n", " "), command


def test_a_column_that_a_frozen_schema_refuses_stops_the_table_beforehand(
    call: Call, outside: Outside, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        schema_changes: freeze"))
    monday(outside.world.database)
    call("sync")
    order(outside.world.database, "alan", outside.world.database.stamp())
    without_status(monkeypatch)

    said = call("plan", "--json")

    assert said.code == 1
    assert said.tables["public.orders"]["action"] == "stop"
    assert "`schema_changes: freeze`" in said.tables["public.orders"]["error"]


def test_a_stop_is_shown_with_its_own_cause_and_not_with_that_of_a_guarantee(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    order(synced.world.database, "alan", synced.world.database.stamp())
    there = tuple((each.name, "int" if each.name == "id" else each.spark_type) for each in ORDERS_SHAPE.columns)
    monkeypatch.setattr(FakeLake, "columns", lambda _self, _spec: there)

    heading, *rows = call("plan").out.splitlines()
    (row,) = (each for each in rows if each.startswith("shop.public.orders "))
    assert (
        row[heading.index("because") :]
        == "columns changed their type (id was int and is bigint), which rows that have landed cannot follow"
    )
    assert row[heading.index("guarantee") : heading.index("schema")].strip() == ""


def test_a_stop_by_a_mistake_of_the_file_is_shown_with_what_is_written_there_and_not_with_its_line(
    call: Call, outside: Outside, config: Path
) -> None:
    config.write_text(CONFIG.replace("strategy: upsert", "strategy: upsert\n        contract: {id: {ge: abc}}"))
    monday(outside.world.database)
    heading, *rows = call("plan").out.splitlines()
    (row,) = (each for each in rows if each.startswith("shop.public.orders "))
    assert row[heading.index("because") :] == "'contract: id': the column is bigint"


def test_the_sum_of_a_plan_counts_tables_in_which_nothing_moved(call: Call, outside: Outside) -> None:
    outside.world.database.tick(600)
    call("sync")
    assert call("plan").out.splitlines()[-1] == (
        "0 tables would be read, 1 stands still, 1 would not be looked at before 2024-01-30 09:10Z (`sync --now` looks), "
        "0 would stop; nothing was written"
    )


def test_a_table_that_nobody_looks_at_yet_is_not_said_to_stand_still(call: Call, outside: Outside) -> None:
    call("sync")
    outside.world.database.insert(COUNTRIES, code="ch", name="Switzerland")
    last = call("plan").out.splitlines()[-1]
    entry = call("plan", "--json").tables["public.countries"]
    assert "1 would not be looked at before" in last
    assert (entry["action"], entry["next_look"] is not None) == ("nothing", True)
    assert call("plan", "--json").tables["public.orders"].get("next_look") is None


def test_a_copy_that_another_hand_changed_stops_the_table_beforehand(call: Call, synced: Outside) -> None:
    synced.world.lake.foreign(ORDERS, "UPDATE", synced.world.lake.tables[ORDERS].rows)

    said = call("plan", "--json")

    assert (said.code, said.tables["public.orders"]["action"]) == (1, "stop")
    assert "another writer" in said.tables["public.orders"]["error"]


def test_a_lost_checkpoint_table_is_read_out_of_the_lake_and_not_made_anew(
    call: Call, synced: Outside, tmp_path: Path
) -> None:
    mark = call("status", "--json").tables["public.orders"]["watermark"]
    for path in tmp_path.glob("checkpoints.db*"):
        path.unlink()
    order(synced.world.database, "alan", synced.world.database.stamp())
    version = synced.world.lake.tables[ORDERS].version

    orders = call("plan", "--json").tables["public.orders"]

    assert (orders["previous_watermark"], orders["window"]["lower"]) == (mark, mark)
    assert any("rebuilt from the lake" in warning for warning in orders["warnings"])
    assert (synced.world.lake.tables[ORDERS].version, list(tmp_path.glob("checkpoints.db*"))) == (version, [])


def test_a_checkpoint_table_of_an_earlier_release_is_left_as_it_is(
    call: Call, synced: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = replace(schema.SHIPPED, latest=schema.SHIPPED.latest + 1)
    monkeypatch.setattr("incremental_assets.adapters.checkpoints.database.Database.__init__.__defaults__", (newer,))
    before = written(tmp_path)

    said = call("plan", "--json")

    assert said.code == 1
    assert "this command writes nothing: `incremental-assets status` brings it up to date" in said.err
    assert written(tmp_path) == before


def test_what_the_source_expects_of_the_read_stands_beside_it(
    call: Call, synced: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    def estimates(_: Probe, plans: list[SyncPlan]) -> tuple[Estimate, ...]:
        return tuple(Estimate(f"SELECT of {plan.spec.id.name}", 12_345, ("orders_by_time",)) for plan in plans)

    synced.world.database.tick(60)
    order(synced.world.database, "alan", synced.world.database.stamp())
    monkeypatch.setattr(Probe, "estimates", estimates)

    said, eyes = call("plan", "--json"), call("plan").out

    assert said.tables["public.orders"]["source_read"] == {
        "sql": "SELECT of orders",
        "rows": 12_345,
        "indexes": ["orders_by_time"],
        "scans": False,
        "unknown": None,
    }
    assert "~12,345" in eyes
    assert "orders_by_time" in eyes
    assert "SELECT of orders;" in eyes
    assert "1 table would be read, 0 stand still, 1 would not be looked at before 2024-01-30" in eyes


def test_a_database_that_cannot_explain_says_so(call: Call, outside: Outside) -> None:
    monday(outside.world.database)

    orders = call("plan", "--json").tables["public.orders"]

    assert orders["source_read"]["unknown"] == "this database is not asked how it would read the rows"


def test_a_source_that_does_not_answer_is_a_failure_by_name(call: Call, outside: Outside) -> None:
    outside.broken = SourceUnreachable("shop: localhost:5432 does not answer")

    said = call("plan", "--json")

    assert said.code == 1
    assert said.tables["public.orders"]["error"] == "shop: localhost:5432 does not answer"


def test_a_table_that_may_not_be_read_is_told_and_the_others_are_planned(call: Call, outside: Outside) -> None:
    outside.world.database.tables[COUNTRIES].shape = replace(COUNTRIES_SHAPE, readable=False, columns=())

    said = call("plan", "--json")

    assert said.code == 1
    assert said.tables["public.countries"]["action"] == "stop"
    assert said.tables["public.orders"]["action"] == "read"


def test_a_comparison_is_told_with_when_it_is_due_and_how_much_is_hashed(
    call: Call, outside: Outside, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_cursor = CONFIG[CONFIG.index("        cursor") : CONFIG.index("        freshness")]
    config.write_text(
        CONFIG.replace(by_cursor, "        strategy: upsert\n        compare: {every: 1h}\n").replace(
            "warn: 15m, fail: 1h", "warn: 3h"
        )
    )
    monday(outside.world.database)
    assert call("sync", "--select", "public.orders").code == 0
    waits = call("plan", "--json", "--select", "public.orders").tables["public.orders"]
    assert (waits["action"], waits["compares"], waits["reason"][:14]) == ("nothing", True, "not due before")
    outside.world.database.tick(4_000)
    due = call("plan", "--json", "--select", "public.orders").tables["public.orders"]
    assert (due["action"], due["compares"], due["source_read"]["sql"]) == ("read", True, None)
    assert due["deletes"].startswith("due: keys are compared, and rows that are gone are removed")
    assert due["files"]["rows"] == len(outside.world.rows(ORDERS)) > 0
    assert "hashed on" in call("plan").out
    without_status(monkeypatch)
    changed = call("plan", "--json", "--select", "public.orders").tables["public.orders"]["schema"]["outcome"]
    assert changed.startswith(
        "'status' is added to the copy; rows that landed before are compared, and read where the source has a value there"
    )


def test_a_table_that_is_read_from_the_log_is_read_behind_its_position() -> None:
    def window(state: State | None) -> str:
        grid = previews.answer([Preview(SPEC, to_read(state))], []).shown[0]
        assert isinstance(grid, Grid)
        return str(grid.rows[0][grid.columns.index("window")])

    assert (window(None), window(loaded())) == ("from the beginning", "behind 0/90")
