"""Drift is repaired by a job of its own, and by the daily check where the configuration says so; both say it on the asset."""

from __future__ import annotations

from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, ExecuteInProcessResult

from incremental_assets.core.planning.plan import Mode
from tests.defs.studio import TERMS, Studio, configured, opened
from tests.fakes.rows import ordered
from tests.scenario import ORDERS, monday, order

AUTO = TERMS + "      reconciliation: {repair: auto, max_rows: 1}\n"


def drifted(studio: Studio) -> Studio:
    """Monday's orders have landed and settled, and one of them has changed under its old stamp."""
    monday(studio.world.database).abort()
    studio.world.pass_time(10)
    studio.run("2024-01-01", mode="sync")
    studio.world.database.update(ORDERS, {"id": 2}, status="changed behind the cursor's back")
    return studio


def execute(studio: Studio, job: str, tables: tuple[str, ...] | None = None) -> ExecuteInProcessResult:
    settings = {} if tables is None else {"ops": {"repair__shop": {"config": {"tables": list(tables)}}}}
    return studio.definitions.resolve_job_def(job).execute_in_process(
        instance=studio.instance, run_config=settings, raise_on_error=False
    )


def equal(studio: Studio) -> bool:
    return ordered(studio.world.rows(ORDERS)) == ordered(studio.world.database.rows(ORDERS))


def last(studio: Studio) -> dict[str, object]:
    (record,) = studio.instance.fetch_materializations(AssetKey(["shop", "public", "orders"]), limit=1).records
    assert record.asset_materialization is not None
    return {name: value.value for name, value in record.asset_materialization.metadata.items()}


@pytest.mark.parametrize("tables", [None, ("public.orders",)])
def test_the_job_mends_what_a_check_has_found_and_says_so_on_the_asset(
    studio: Studio, tables: tuple[str, ...] | None
) -> None:
    drifted(studio)
    assert not studio.check("reconciliation")["reconciliation"].passed
    announced = studio.announced()
    assert execute(studio, "repair__shop__job", tables).success
    assert equal(studio)
    assert (last(studio)["mode"], last(studio)["rows_updated"], last(studio)["rows_inserted"]) == ("repair", 1, 0)
    assert studio.announced() == sorted([*announced, "2024-01-01"])
    record = studio.instance.get_latest_asset_check_evaluation_record(
        next(
            iter(
                studio.definitions.resolve_asset_graph().get_check_keys_for_assets(
                    {AssetKey(["shop", "public", "orders"])}
                )
                & _reconciliation()
            )
        )
    )
    assert record is not None
    assert record.status.value == "SUCCEEDED"


def _reconciliation() -> set[object]:
    from dagster import AssetCheckKey

    return {AssetCheckKey(AssetKey(["shop", "public", "orders"]), "reconciliation")}


def test_a_repair_of_several_partitions_says_what_it_did_at_the_newest_alone(studio: Studio) -> None:
    order(studio.world.database, "ada", "2023-12-05T00:00:00Z", number=99)
    drifted(studio)
    studio.world.database.update(ORDERS, {"id": 99}, status="changed behind the cursor's back")
    assert not studio.check("reconciliation")["reconciliation"].passed
    assert execute(studio, "repair__shop__job").success
    assert equal(studio)
    assert studio.by_partition("mode")["2023-12-01"] == ["repair", "sync"]
    assert studio.by_partition("rows_updated")["2023-12-01"] == [None, None]
    assert studio.by_partition("rows_updated")["2024-01-01"][0] == 2
    assert studio.by_partition("run_totals_at")["2023-12-01"] == ["2024-01-01", None]


def test_without_drift_the_job_has_nothing_to_do(studio: Studio) -> None:
    drifted(studio)
    events = len(studio.world.memory.events)
    assert execute(studio, "repair__shop__job").success
    assert len(studio.world.memory.events) == events


def test_a_name_that_no_table_has_fails_the_job_and_the_others_are_mended(studio: Studio) -> None:
    drifted(studio)
    studio.check("reconciliation")
    result = execute(studio, "repair__shop__job", ("public.orders", "public.nothing"))
    assert not result.success
    assert "there is no table 'public.nothing'" in str(result.failure_data_for_node("repair__shop"))
    assert equal(studio)


def test_a_table_with_drift_whose_configuration_no_longer_fits_fails_the_job_by_name(
    studio: Studio, tmp_path: Path
) -> None:
    drifted(studio)
    studio.check("reconciliation")
    studio.runtime.configuration = configured(tmp_path, TERMS.replace("column: updated_at", "column: changed_at"))
    result = execute(studio, "repair__shop__job")
    assert not result.success
    assert "public.orders" in str(result.failure_data_for_node("repair__shop"))
    assert "changed_at" in str(result.failure_data_for_node("repair__shop"))
    assert not equal(studio)


def test_the_daily_check_mends_by_itself_where_the_configuration_says_so(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    studio = drifted(opened(tmp_path, instance, AUTO))
    # A check that somebody asks for repairs nothing.
    assert not studio.check("reconciliation")["reconciliation"].passed
    result = execute(studio, "check__shop__job")
    found = {(each.asset_key.path[-1], each.check_name): each for each in result.get_asset_check_evaluations()}
    verdict = found["orders", "reconciliation"]
    assert verdict.passed
    assert verdict.description is not None
    assert "1 row had drifted" in verdict.description
    assert "1 row repaired, 0 added, 0 deleted; checked again: " in verdict.description
    assert equal(studio)
    assert last(studio)["mode"] == "repair"
    modes = [event.report.mode for event in studio.world.memory.events if event.report is not None]
    assert modes[-1] is Mode.REPAIR


def test_more_drift_than_that_is_left_to_people(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = drifted(opened(tmp_path, instance, AUTO))
    order(studio.world.database, "late", "2024-01-29T08:00:00Z")
    result = execute(studio, "check__shop__job")
    found = {
        each.check_name: each for each in result.get_asset_check_evaluations() if each.asset_key.path[-1] == "orders"
    }
    assert not found["reconciliation"].passed
    assert found["reconciliation"].metadata["rows_differing"].value == 2
    assert not equal(studio)


def test_by_default_the_daily_check_mends_nothing(studio: Studio) -> None:
    drifted(studio)
    execute(studio, "check__shop__job")
    assert not equal(studio)
