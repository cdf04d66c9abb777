"""Who may hold a source's pool: a living run, and nobody whose process is gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from dagster import DagsterInstance, DagsterRun, DagsterRunStatus
from dagster._core.remote_origin import GrpcServerCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.cli import dagster_runs
from incremental_assets.cli.commands import dev
from incremental_assets.cli.orphaned_runs import OUR_LOCATIONS, end_dead_runs, free_dead_slots, process_tag
from incremental_assets.defs.in_flight import PROCESS_TAG
from incremental_assets.defs.names import pool

OURS = OUR_LOCATIONS[0]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    with DagsterInstance.local_temp(str(tmp_path)) as instance:
        instance.event_log_storage.set_concurrency_slots(pool("shop"), 1)
        yield instance


def running(instance: DagsterInstance, tags: dict[str, str], location: str | None = None) -> DagsterRun:
    """A run in the middle of its step, with the pool's only slot; `location`: of the code location by which a daemon launched it."""
    origin = location and _origin(location)
    run = DagsterRun(job_name="sync", status=DagsterRunStatus.STARTED, tags=tags, remote_job_origin=origin or None)
    instance.add_run(run)
    assert instance.event_log_storage.claim_concurrency_slot(pool("shop"), run.run_id, "step").is_claimed
    return run


def _origin(location: str) -> RemoteJobOrigin:
    served = GrpcServerCodeLocationOrigin(host="localhost", port=4266, location_name=location)
    return RemoteJobOrigin(RemoteRepositoryOrigin(served, "__repository__"), "sync")


def killed() -> dict[str, str]:
    """The tag of a process that has been and is gone."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        pid = process.pid
    return {PROCESS_TAG: replace(ProcessIdentity.here(), pid=pid).text}


def claimed(instance: DagsterInstance) -> int:
    return len(instance.event_log_storage.get_concurrency_info(pool("shop")).claimed_slots)


def test_a_killed_command_line_gives_up_its_slot_and_its_run_is_told_as_failed(instance: DagsterInstance) -> None:
    run = running(instance, killed())
    assert free_dead_slots(instance, "shop", ()) is None
    assert claimed(instance) == 0
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.status is DagsterRunStatus.FAILURE


def test_a_living_command_line_keeps_its_slot_even_before_it_has_a_lease(instance: DagsterInstance) -> None:
    run = running(instance, process_tag())
    assert free_dead_slots(instance, "shop", ()) == run.run_id
    assert claimed(instance) == 1


def test_a_run_of_the_daemon_keeps_its_slot_while_it_holds_a_lease(instance: DagsterInstance) -> None:
    run = running(instance, {})
    assert free_dead_slots(instance, "shop", {run.run_id}) == run.run_id
    assert claimed(instance) == 1


def test_a_run_of_the_daemon_without_a_lease_gives_way_and_is_left_for_the_daemon_to_judge(
    instance: DagsterInstance,
) -> None:
    run = running(instance, {})
    assert free_dead_slots(instance, "shop", ()) is None
    assert claimed(instance) == 0
    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.status is DagsterRunStatus.STARTED


def test_dev_begins_by_telling_of_runs_that_a_killed_one_or_a_power_cut_left_running(instance: DagsterInstance) -> None:
    boot = replace(ProcessIdentity.here(), machine="another boot/pid:[1]").text
    elsewhere = replace(ProcessIdentity.here(), host="another.machine", machine="x/pid:[1]").text
    instance.event_log_storage.set_concurrency_slots(pool("shop"), 5)
    dead = [running(instance, tags, OURS).run_id for tags in (killed(), {PROCESS_TAG: boot}, {})]
    alive = [running(instance, tags).run_id for tags in (process_tag(), {PROCESS_TAG: elsewhere})]

    assert end_dead_runs(instance) == 3
    statuses = {run.run_id: run.status for run in instance.get_runs()}
    assert {statuses[run_id] for run_id in dead} == {DagsterRunStatus.FAILURE}
    assert {statuses[run_id] for run_id in alive} == {DagsterRunStatus.STARTED}
    assert claimed(instance) == 2


def test_dev_leaves_runs_of_other_projects_in_the_same_home_alone(instance: DagsterInstance) -> None:
    instance.event_log_storage.set_concurrency_slots(pool("shop"), 5)
    others = [running(instance, {}, location).run_id for location in ("another_project", None)]
    dead = [running(instance, {}, location).run_id for location in OUR_LOCATIONS]

    assert end_dead_runs(instance) == 2
    statuses = {run.run_id: run.status for run in instance.get_runs()}
    assert {statuses[run_id] for run_id in others} == {DagsterRunStatus.STARTED}
    assert {statuses[run_id] for run_id in dead} == {DagsterRunStatus.FAILURE}
    assert claimed(instance) == 2


def test_what_dev_serves_has_one_of_the_names_by_which_its_runs_are_known() -> None:
    (served,) = yaml.safe_load((Path(__file__).parents[2] / "workspace.yaml").read_text())["load_from"]
    assert served["python_module"]["location_name"] in OUR_LOCATIONS
    assert served["python_module"]["module_name"] in OUR_LOCATIONS


def test_dev_says_of_how_many_runs_the_process_was_killed(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running(instance, killed())
    monkeypatch.setattr(dagster_runs, "dagster_instance", lambda: nullcontext(instance))
    dev._end_dead_runs()
    assert capsys.readouterr().err == (
        "1 run had been killed; Dagster shows it as failed now, and the sensor asks for it again\n"
    )
