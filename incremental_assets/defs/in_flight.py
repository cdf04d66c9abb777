"""Runs in progress, checked against their processes.

A run that dies together with the process that watched it (a power cut, a killed `dev`) would be shown as running forever, and the sensor
would wait for it. Therefore each run records its process.
"""

from __future__ import annotations

from dagster import (
    AssetCheckExecutionContext,
    AssetExecutionContext,
    DagsterInstance,
    DagsterRunStatus,
    OpExecutionContext,
    RunsFilter,
)

from incremental_assets.defs.opened import Opened

PROCESS_TAG = "incremental_assets/process"
"""The process that executes a run."""
KILLED = "the process that ran it was killed; the next sync goes on from what had landed"

IN_FLIGHT = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


def sign(context: AssetExecutionContext | AssetCheckExecutionContext | OpExecutionContext, runtime: Opened) -> None:
    """Write this process onto the run."""
    context.instance.add_run_tags(context.run.run_id, {PROCESS_TAG: runtime.process})


def in_flight(instance: DagsterInstance, tags: dict[str, str], runtime: Opened) -> str:
    """The id of a run with these tags that is in progress, or an empty text; runs before it whose process has ended are reported as failed."""
    for record in instance.get_run_records(RunsFilter(tags=tags, statuses=IN_FLIGHT)):
        run = record.dagster_run
        process = run.tags.get(PROCESS_TAG)
        if process is None or not runtime.has_ended(process):
            return run.run_id
        instance.report_run_failed(run, KILLED)
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return ""
