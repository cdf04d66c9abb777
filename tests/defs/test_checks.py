"""Every check, seen passing and seen failing on doctored data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from dagster import AssetCheckKey, AssetCheckSeverity, AssetKey, AssetSelection, DagsterInstance, materialize

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.defs.assets import sync_assets
from incremental_assets.defs.checks import check_assets
from incremental_assets.defs.in_flight import PROCESS_TAG
from tests.defs.studio import TERMS, Studio, opened
from tests.fakes import FakeLake
from tests.fakes.delta_table import LogEntry
from tests.fakes.recorder import Recorder
from tests.scenario import COUNTRIES, ORDERS, monday, order


def synced(studio: Studio) -> Studio:
    """Monday's orders have landed and settled."""
    monday(studio.world.database).abort()
    studio.world.pass_time(10)
    studio.run("2024-01-01", mode="sync")
    return studio


def doctor(studio: Studio, *rows: dict[str, object]) -> None:
    """Another writer replaces the copy."""
    table = studio.world.lake.tables[ORDERS]
    table.log.append(LogEntry(tuple(rows), "WRITE", ours=False))


def test_what_has_landed_and_is_equal_passes_every_check(studio: Studio) -> None:
    found = synced(studio).check("freshness", "duplicates", "reconciliation", "schema")
    assert {name: check.passed for name, check in found.items()} == dict.fromkeys(found, True)
    assert len(found) == 4


def test_a_run_of_checks_says_which_process_it_is_of(studio: Studio, instance: DagsterInstance) -> None:
    synced(studio).check("freshness")
    newest = instance.get_run_records(limit=1)[0].dagster_run
    assert newest.tags[PROCESS_TAG] == ProcessIdentity.here().text


def test_freshness_warns_and_then_fails_by_the_age_of_the_oldest_row_that_has_not_landed(studio: Studio) -> None:
    synced(studio)
    order(studio.world.database, "alan", studio.world.database.stamp())
    studio.world.pass_time(20 * 60)
    warned = studio.check("freshness")["freshness"]
    studio.world.pass_time(60 * 60)
    failed = studio.check("freshness")["freshness"]

    assert (warned.passed, warned.severity) == (False, AssetCheckSeverity.WARN)
    assert (failed.passed, failed.severity) == (False, AssetCheckSeverity.ERROR)
    assert failed.metadata["lag_seconds"].value == 80 * 60
    assert failed.metadata["limit_seconds"].value == 3600
    assert failed.description == "the oldest row that has not landed is 1h 20m old, more than 1h"


def test_freshness_warns_of_a_transaction_that_holds_the_watermark_back_though_every_row_has_landed(
    studio: Studio,
) -> None:
    synced(studio)
    studio.world.database.begin()
    studio.world.pass_time(2 * 3600)
    held = studio.check("freshness")["freshness"]

    assert (held.passed, held.severity) == (False, AssetCheckSeverity.WARN)
    assert "held back for 2h by transaction" in (held.description or "")


def test_a_key_that_is_there_twice_fails_and_blocks(studio: Studio) -> None:
    synced(studio)
    rows = studio.world.rows(ORDERS)
    doctor(studio, *rows, {**rows[0], "status": "copy"})
    found = studio.check("duplicates")["duplicates"]

    assert not found.passed
    assert found.blocking
    assert found.metadata["keys_repeated"].value == 1
    assert len(found.metadata["samples"].value) == 1


def test_a_row_that_is_missing_and_one_that_differs_are_drift_and_the_window_is_named(studio: Studio) -> None:
    synced(studio)
    first, *others = studio.world.rows(ORDERS)
    doctor(studio, {**first, "status": "never so"}, *others[1:])
    found = studio.check("reconciliation")["reconciliation"]

    assert (found.passed, found.severity) == (False, AssetCheckSeverity.ERROR)
    assert found.metadata["rows_differing"].value == 2
    assert found.metadata["samples"].value == ["1", "2"]
    assert "2024-01-01T00:00:00Z" in str(found.metadata["drifted_windows"].value)


def test_in_a_run_on_a_partition_only_its_window_is_compared(studio: Studio) -> None:
    synced(studio)
    doctor(studio)
    assert studio.check("reconciliation", partition="2023-12-01")["reconciliation"].passed
    assert not studio.check("reconciliation", partition="2024-01-01")["reconciliation"].passed
    assert studio.runtime.expected_full_reads == set(), "no session for the whole table"
    assert not studio.check("reconciliation")["reconciliation"].passed
    assert studio.runtime.expected_full_reads == {ORDERS}


def test_sample_keys_of_a_personal_key_are_hashed(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = synced(opened(tmp_path, instance, TERMS.rstrip() + "\n      pii: [id]\n"))
    doctor(studio)
    samples = studio.check("reconciliation")["reconciliation"].metadata["samples"].value
    assert len(samples) == 4
    assert all(len(sample) == 16 for sample in samples)


def test_severity_of_drift_comes_from_the_configuration(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = synced(opened(tmp_path, instance, TERMS.rstrip() + "\n      reconciliation: {severity: warn}\n"))
    doctor(studio)
    assert studio.check("reconciliation")["reconciliation"].severity is AssetCheckSeverity.WARN


def test_a_table_read_whole_may_lag_behind_its_source_but_not_be_written_by_another_hand(studio: Studio) -> None:
    studio.world.database.insert(COUNTRIES, code="ch", name="Switzerland")
    studio.run("current", tables=[COUNTRIES])
    studio.world.database.insert(COUNTRIES, code="de", name="Germany")
    behind = studio.check("reconciliation", table=COUNTRIES)["reconciliation"]
    studio.world.lake.tables[COUNTRIES].log.append(LogEntry((), "DELETE", ours=False))
    doctored = studio.check("reconciliation", table=COUNTRIES)["reconciliation"]

    assert behind.passed
    assert "the source has changed in 1 row since it was read whole" in (behind.description or "")
    assert not doctored.passed
    assert "another writer has changed" in (doctored.description or "")


def test_a_sync_tells_of_the_columns_that_it_met_when_that_is_news(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[tuple[bool, str]]:
        key = AssetCheckKey(AssetKey(["shop", "public", "orders"]), "schema")
        records = studio.instance.event_log_storage.get_asset_check_execution_history(key, limit=10)
        evaluations = [record.event.dagster_event.asset_check_evaluation_data for record in reversed(records)]  # type: ignore[union-attr]
        return [(each.passed, each.description or "") for each in evaluations]

    synced(studio)
    assert told() == [(True, "4 columns, the same on both sides")]
    order(studio.world.database, "alan", studio.world.database.stamp())
    assert studio.run("2024-01-01", mode="sync").success
    assert len(told()) == 2, "of what has landed since"
    assert studio.run("2024-01-01", mode="sync").success
    assert len(told()) == 2, "the same as before is no news where nothing has landed"

    with monkeypatch.context() as patch:
        was = (("id", "bigint"), ("customer", "int"), ("status", "string"), ("updated_at", "timestamp"))
        patch.setattr(FakeLake, "columns", lambda *_: was)
        studio.world.database.insert(ORDERS, id=99, customer="ada", status="new", updated_at=None)
        assert not studio.run("2024-01-01", mode="sync").success
    assert told()[2:] == [(False, "customer was int and is string")]


def test_a_column_that_changed_its_type_fails_and_a_new_one_warns(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced(studio)
    shape = studio.world.database.tables[ORDERS].shape
    landed = tuple((column.name, column.spark_type) for column in shape.columns)
    monkeypatch.setattr(FakeLake, "columns", lambda _, spec: landed)
    added = replace(shape, columns=(*shape.columns, Column("note", "text", "string", Fidelity.EXACT)))
    studio.world.database.tables[ORDERS].shape = added
    new = studio.check("schema")["schema"]
    retyped = tuple(replace(column, spark_type="int") if column.name == "id" else column for column in shape.columns)
    studio.world.database.tables[ORDERS].shape = replace(shape, columns=retyped)
    changed = studio.check("schema")["schema"]

    assert (new.passed, new.severity) == (False, AssetCheckSeverity.WARN)
    assert (changed.passed, changed.severity) == (False, AssetCheckSeverity.ERROR)
    assert changed.description == "id was bigint and is int"


def test_a_table_that_has_never_landed_is_stale_and_passes_no_check(studio: Studio) -> None:
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    found = studio.check("freshness", "duplicates", "reconciliation", "schema")
    assert {name: (check.passed, check.severity) for name, check in found.items()} == {
        "freshness": (False, AssetCheckSeverity.ERROR),
        "duplicates": (False, AssetCheckSeverity.WARN),
        "reconciliation": (False, AssetCheckSeverity.WARN),
        "schema": (False, AssetCheckSeverity.WARN),
    }
    assert "nothing has landed yet" in (found["duplicates"].description or "")


def test_a_window_that_is_equal_does_not_hide_the_drift_of_another(studio: Studio) -> None:
    synced(studio)
    doctor(studio)
    assert not studio.check("reconciliation")["reconciliation"].passed
    found = studio.check("reconciliation", partition="2023-12-01")["reconciliation"]
    assert not found.passed
    assert (found.description or "").startswith("in [2023-12-01T00:00:00Z, 2024-01-01T00:00:00Z) alone: ")
    assert "an earlier check found 4 rows that have drifted in" in (found.description or "")


def test_a_table_that_cannot_be_synced_has_passed_no_check(studio: Studio) -> None:
    del studio.world.database.tables[ORDERS]
    found = studio.check("reconciliation", "schema")
    assert not any(check.passed for check in found.values())
    assert "this user can see no such table" in (found["schema"].description or "")


def test_a_source_that_does_not_answer_fails_the_run_and_passes_nothing(studio: Studio) -> None:
    synced(studio)
    studio.runtime.broken = SourceUnreachable("shop: nobody answers at localhost:5432")
    assert studio.check("freshness") == {}


def test_checks_apply_where_they_can_say_something(studio: Studio, tmp_path: Path, instance: DagsterInstance) -> None:
    def of(studio: Studio, name: str) -> set[str]:
        keys = studio.definitions.resolve_asset_graph().asset_check_keys
        return {key.name for key in keys if key.asset_key == AssetKey(["shop", "public", name])}

    appended = opened(tmp_path, instance, "- 'public.orders:updated_at:timestamp!append'")
    assert of(studio, "orders") == {"freshness", "duplicates", "reconciliation", "schema"}
    assert of(studio, "countries") == {"duplicates", "reconciliation", "schema"}
    assert of(appended, "orders") == {"reconciliation", "schema"}


def test_a_run_of_selected_checks_asks_each_table_only_its_own(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    synced(studio)
    studio.world.database.insert(COUNTRIES, code="ch", name="Switzerland")
    studio.run("current", tables=[COUNTRIES])
    told = studio.world.observer = Recorder()
    wanted = [("orders", "schema"), ("countries", "duplicates")]

    result = materialize(
        [*studio.view.external(), *sync_assets(studio.view), *check_assets(studio.view)],
        selection=AssetSelection.checks(
            *(AssetCheckKey(AssetKey(["shop", "public", name]), check) for name, check in wanted)
        ),
        resources={"runtime": studio.runtime},
        instance=studio.instance,
    )

    assert result.success
    assert sorted((table.name, check) for table, check in told.checks) == sorted(wanted)
