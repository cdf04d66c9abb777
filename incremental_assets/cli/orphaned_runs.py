"""What killed runs left behind in Dagster: slots of a source's pool, and the status of a run in progress."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from dagster import DagsterInstance, DagsterRun, DagsterRunStatus, RunsFilter

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.defs.in_flight import KILLED, PROCESS_TAG
from incremental_assets.defs.names import pool

OUR_LOCATIONS = ("incremental_assets", "incremental_assets.definitions")
"""Names of the code location that `dev` serves: in a checkout that of workspace.yaml, else that of its module."""
_UNDER_WAY = [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]


CONFIGURATION_TAG = "incremental_assets/configuration"
"""The file of the configuration that a command line executes a run for."""


def process_tag() -> dict[str, str]:
    """The tag for a run that a command line executes itself: this process, so that a later one can tell whether it is still there."""
    return {PROCESS_TAG: ProcessIdentity.here().text}


def own_tags(configuration: Path) -> dict[str, str]:
    """The tags for a run that a command line executes itself: its process, and the configuration by which another project in this home tells it."""
    return {**process_tag(), CONFIGURATION_TAG: str(configuration)}


def holder_of(run: DagsterRun | None, ours: Path) -> tuple[str, str]:
    """The process that executes a run, and its configuration if it is not ours; empty what is not known."""
    tags = run.tags if run else {}
    process, configuration = tags.get(PROCESS_TAG), tags.get(CONFIGURATION_TAG, "")
    return str(ProcessIdentity.parse(process)) if process else "", "" if configuration == str(ours) else configuration


def free_dead_slots(instance: DagsterInstance, source: str, leased: Collection[str]) -> str | None:
    """Free what dead runs hold; returns the live run that holds the pool, None if there is none.

    `leased` are the runs that hold a table's lease now: the lease is what keeps writers apart, the pool only spares the source.
    """
    storage = instance.event_log_storage
    info = storage.get_concurrency_info(pool(source))
    holding = {slot.run_id for slot in info.claimed_slots} | {step.run_id for step in info.pending_steps}
    living = None
    for run_id in sorted(holding):
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished or _is_over(run) or (PROCESS_TAG not in run.tags and run_id not in leased):
            if run is not None and not run.is_finished and _is_over(run):
                instance.report_run_failed(run, KILLED)
            storage.free_concurrency_slots_for_run(run_id)
        else:
            living = run_id
    return living


def end_dead_runs(instance: DagsterInstance) -> int:
    """Report our runs as failed that a power cut or a killed `dev` left running, and free their slots; returns how many. For the only user of our code location on this instance."""
    dead = [
        record.dagster_run
        for record in instance.get_run_records(RunsFilter(statuses=_UNDER_WAY))
        if not _may_live(record.dagster_run)
    ]
    for run in dead:
        instance.report_run_failed(run, KILLED)
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return len(dead)


def _may_live(run: DagsterRun) -> bool:
    process = run.tags.get(PROCESS_TAG)
    if process is None:
        # It was not signed yet, as one that a killed `dev` has just begun; or it is of another project, whose processes are not known here.
        return not _is_ours(run)
    owner = ProcessIdentity.parse(process)
    return not (owner.is_gone or owner.is_of_another_boot)


def _is_ours(run: DagsterRun) -> bool:
    origin = run.remote_job_origin
    return origin is not None and origin.repository_origin.code_location_origin.location_name in OUR_LOCATIONS


def _is_over(run: DagsterRun) -> bool:
    process = run.tags.get(PROCESS_TAG)
    return process is not None and ProcessIdentity.parse(process).is_gone
