"""The slots of a source's pool that killed runs left claimed: Dagster's daemon frees them in its own time, a command line cannot wait for that."""

from __future__ import annotations

from collections.abc import Collection

from dagster import DagsterInstance, DagsterRun

from incremental_assets.defs.names import pool
from incremental_assets.engine.owner import Owner

OWNER_TAG = "incremental_assets/process"
"""On runs that a command line executes itself, in its own process, which nobody else watches over."""


def owner_tag() -> dict[str, str]:
    """This process, so that a later one can tell whether it is still there."""
    here = Owner.here()
    return {OWNER_TAG: "|".join((here.host, here.machine, str(here.pid), here.started))}


def free_dead_slots(instance: DagsterInstance, source: str, leased: Collection[str]) -> str | None:
    """Free what dead runs hold; gives the run that goes on holding the pool, None if there is none.

    `leased` are the runs that hold a table's lease now: the lease is what keeps writers apart, the pool only spares the source.
    """
    storage = instance.event_log_storage
    info = storage.get_concurrency_info(pool(source))
    holding = {slot.run_id for slot in info.claimed_slots} | {step.run_id for step in info.pending_steps}
    living = None
    for run_id in sorted(holding):
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished or _is_over(run) or (OWNER_TAG not in run.tags and run_id not in leased):
            if run is not None and not run.is_finished and _is_over(run):
                instance.report_run_failed(
                    run, "the process that ran it was killed; the next sync goes on where it stopped"
                )
            storage.free_concurrency_slots_for_run(run_id)
        else:
            living = run_id
    return living


def _is_over(run: DagsterRun) -> bool:
    tag = run.tags.get(OWNER_TAG)
    if tag is None:
        return False
    host, machine, pid, started = tag.split("|")
    return Owner(host, machine, int(pid), started).is_gone
