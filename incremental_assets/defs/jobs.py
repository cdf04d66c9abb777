"""One job per partition scheme, since a run cannot have two, and one that checks all tables of a source, daily."""

from __future__ import annotations

from collections.abc import Mapping

from dagster import AssetSelection, DefaultScheduleStatus, ScheduleDefinition, define_asset_job, in_process_executor
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from incremental_assets.defs.names import plain
from incremental_assets.defs.partitions import Scheme
from incremental_assets.defs.tables import View

Job = UnresolvedAssetJobDefinition
Jobs = Mapping[Scheme, Job]

REPAIR_TAG = "incremental_assets/repair"
"""`auto`: the checks of a run repair drift where `reconciliation` says so."""
ONE_SESSION = in_process_executor
"""One Spark session per run: a process per step would start a JVM for each of them."""


def sync_jobs(view: View) -> Jobs:
    """What the sensor runs: the tables of one scheme, without the checks that read whole tables."""
    return {
        scheme: define_asset_job(
            name=f"{scheme.op}_job",
            selection=AssetSelection.assets(*view.asset_keys(known.id for known in tables)).without_checks(),
            description=f"Syncs tables of {view.name}; tagged `mode: sync` it continues from their watermarks, else it reads its partitions again.",
            metadata=view.place,
            executor_def=ONE_SESSION,
        )
        for scheme, tables in view.by_scheme().items()
    }


def check_schedule(view: View, job: Job) -> tuple[ScheduleDefinition, ...]:
    """Every check once a day, at `check_at`; none where that is `never`."""
    at = view.config.check_at
    if at is None:
        return ()
    return (
        ScheduleDefinition(
            name=plain("check", view.name, "schedule"),
            job=job,
            cron_schedule=f"{at.minute} {at.hour} * * *",
            execution_timezone="UTC",
            default_status=DefaultScheduleStatus.RUNNING,
            description=f"Checks every copy of {view.name} once a day; `check_at` says when.",
        ),
    )


def check_job(view: View) -> Job:
    """Every check of every table."""
    keys = view.asset_keys(known.id for known in view.tables)
    return define_asset_job(
        name=plain("check", view.name, "job"),
        selection=AssetSelection.checks_for_assets(*keys),
        tags={REPAIR_TAG: "auto"},
        description=f"Asks whether the copies of {view.name} are fresh, unique, and equal to their source; repairs drift where `repair: auto` says so.",
        metadata=view.place,
        executor_def=ONE_SESSION,
    )
