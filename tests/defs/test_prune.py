"""What `retention` lets go is removed by a job of its own, once a day, and told on the asset."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dagster import DagsterEventType, DagsterInstance, DagsterRunStatus, ExecuteInProcessResult
from dagster._core.test_utils import create_run_for_test

from incremental_assets.core.model.retention import OldFiles, StoredFile
from tests.defs.studio import TERMS, Studio, opened
from tests.scenario import ORDERS, order

AT = datetime(2024, 1, 1, tzinfo=UTC)
WEEK = TERMS + "      retention: {files: 7d}\n"


def kept(folder: Path, instance: DagsterInstance, terms: str = WEEK, options: str = "") -> Studio:
    """Monday's order has landed, and two files are old."""
    studio = opened(folder, instance, terms, options)
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    studio.world.pass_time(10)
    studio.run("2024-01-01", mode="sync")
    files = (StoredFile("a.parquet", 1000, AT), StoredFile("b.parquet", 24, AT))
    studio.world.lake.old[ORDERS] = (OldFiles("/lake/orders", AT, 1, None, files),)
    return studio


def execute(studio: Studio) -> ExecuteInProcessResult:
    job = studio.definitions.resolve_job_def("prune__shop__job")
    return job.execute_in_process(instance=studio.instance, raise_on_error=False)


def test_the_job_removes_them_and_the_asset_says_what_it_came_to(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = kept(tmp_path, instance)
    result = execute(studio)
    (event,) = [each for each in result.all_events if each.event_type is DagsterEventType.ASSET_OBSERVATION]
    told = {name: value.value for name, value in event.asset_observation_data.asset_observation.metadata.items()}
    assert result.success
    assert (told["files_removed"], told["bytes_removed"]) == (2, 1024)
    assert studio.world.lake.removed == ["a.parquet", "b.parquet"]


def test_a_table_that_is_held_by_a_run_is_left_for_tomorrow_and_fails_nothing(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    studio = kept(tmp_path, instance)
    with studio.world.checkpoints.lease(ORDERS, "another"):
        assert execute(studio).success
    assert studio.world.lake.removed == []


def test_a_source_that_does_not_answer_fails_the_job_by_name(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = kept(tmp_path, instance)
    from incremental_assets.core.errors import SourceUnreachable

    studio.runtime.broken = SourceUnreachable("shop: nobody answers")
    result = execute(studio)
    assert not result.success
    assert "shop: nobody answers" in str(result.failure_data_for_node("prune__shop"))


@pytest.mark.parametrize(
    ("options", "cron"), [("", "0 3 * * *"), ("check_at: '04:30'\n", "30 4 * * *"), ("check_at: never\n", "0 3 * * *")]
)
def test_it_is_due_once_a_day_when_everything_is_checked(
    tmp_path: Path, instance: DagsterInstance, options: str, cron: str
) -> None:
    schedule = opened(tmp_path, instance, WEEK, options).definitions.resolve_schedule_def("prune__shop__schedule")
    assert schedule.cron_schedule == cron


def test_a_ledger_that_is_not_kept_forever_is_pruned_by_the_same_job(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = kept(tmp_path, instance, TERMS)
    studio.runtime.configuration = replace(studio.runtime.configuration, ledger=timedelta(days=400))
    assert execute(studio).success
    assert studio.world.memory.kept_for == timedelta(days=400)


def test_what_runs_have_printed_is_removed_when_it_is_old_and_their_events_stay(
    tmp_path: Path, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = kept(tmp_path, instance, TERMS)
    removed: list[str] = []
    monkeypatch.setattr(
        instance.compute_log_manager, "delete_logs", lambda prefix: removed.append("/".join(prefix)), raising=False
    )
    (ours,) = [record.dagster_run.run_id for record in instance.get_run_records()]
    foreign = create_run_for_test(instance, "of_another", status=DagsterRunStatus.SUCCESS)
    studio.runtime.configuration = replace(studio.runtime.configuration, logs=timedelta(0))
    assert execute(studio).success
    assert removed == [f"{ours}/compute_logs"]
    assert foreign.run_id not in "".join(removed)
    assert instance.all_logs(ours)
    assert studio.runtime.tracebacks_removed == [timedelta(0)]

    pruning = instance.get_run_records(limit=1)[0].dagster_run.run_id
    assert execute(opened_again(studio)).success
    assert removed[1:] == [f"{pruning}/compute_logs"], "it was at work the first time; none goes twice"


def test_what_younger_runs_have_printed_stays(
    tmp_path: Path, instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = kept(tmp_path, instance, TERMS)
    monkeypatch.setattr(instance.compute_log_manager, "delete_logs", lambda prefix: pytest.fail(str(prefix)))
    studio.runtime.configuration = replace(studio.runtime.configuration, logs=timedelta(days=30))
    assert execute(studio).success


def opened_again(studio: Studio) -> Studio:
    return Studio(studio.world, studio.runtime, studio.instance)


def test_a_source_that_keeps_everything_has_no_such_job(studio: Studio) -> None:
    assert not studio.definitions.resolve_job_def("check__shop__job").name.startswith("prune")
    names = {job.name for job in studio.definitions.resolve_all_job_defs()}
    assert "prune__shop__job" not in names
