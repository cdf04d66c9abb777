"""The job that removes daily what `retention` lets go, and what it says on the assets."""

from datetime import time

from dagster import (
    AssetObservation,
    DefaultScheduleStatus,
    Failure,
    JobDefinition,
    OpExecutionContext,
    ScheduleDefinition,
    job,
    op,
)

from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.maintenance.prune import prune_all
from incremental_assets.core.model.retention import KEEPS_ALL, Pruned
from incremental_assets.defs import metadata
from incremental_assets.defs.in_flight import sign
from incremental_assets.defs.jobs import ONE_SESSION
from incremental_assets.defs.names import plain, pool
from incremental_assets.defs.opened import opened
from incremental_assets.defs.run_logs import remove_older
from incremental_assets.defs.tables import View

_AT = time(3)
"""Where a source is never checked; else it is then, when nobody minds that files are listed."""


def prunes(view: View) -> bool:
    """Whether something of a source is not kept forever."""
    of_none = (view.home.ledger, view.home.logs) != (None, None)
    return of_none or any(known.terms.retention != KEEPS_ALL for known in view.tables)


def prune_job(view: View) -> JobDefinition:
    """The job that prunes the tables of a source."""

    @op(name=plain("prune", view.name), pool=pool(view.name), required_resource_keys={view.resource})
    def prune(context: OpExecutionContext) -> None:
        """What cannot be pruned is a warning: it is tried again tomorrow."""
        runtime = opened(context.resources, view.resource)
        sign(context, runtime)
        try:
            specs = runtime.specs(view.name).specs
            ports = runtime.ports(view.name)
            for done in prune_all(
                specs, lambda table: terms_of(view.config, table).retention, context.run.run_id, ports
            ):
                if not isinstance(done, Pruned):
                    context.log.warning("%s", done.error)
                    continue
                context.log.info("%s: %s", done.table, done.sentence)
                for sentence in done.left:
                    context.log.warning("%s: %s", done.table, sentence)
                context.log_event(AssetObservation(view.keys.of(done.table), metadata=metadata.of_pruning(done)))
            if view.home.ledger is not None:
                removed, counted = runtime.checkpoints.prune_events(view.home.ledger)
                context.log.info("ledger: %s events removed, %s are only counted from now on", removed, counted)
            if view.home.logs is not None:
                runs, tracebacks = (
                    remove_older(context.instance, view.home.logs),
                    runtime.remove_tracebacks(view.home.logs),
                )
                context.log.info(
                    "logs: of %s runs what they had printed was removed, and %s tracebacks", runs, tracebacks
                )
        except IncrementalAssetsError as error:
            raise Failure(str(error)) from None

    @job(
        name=plain("prune", view.name, "job"),
        executor_def=ONE_SESSION,
        description=f"Removes what the tables of {view.name} keep longer than `retention` says.",
        metadata=view.place,
    )
    def pruning() -> None:
        prune()

    return pruning


def prune_schedule(view: View, pruning: JobDefinition) -> ScheduleDefinition:
    """Once a day."""
    at = view.config.check_at or _AT
    return ScheduleDefinition(
        name=plain("prune", view.name, "schedule"),
        job=pruning,
        cron_schedule=f"{at.minute} {at.hour} * * *",
        execution_timezone="UTC",
        default_status=DefaultScheduleStatus.RUNNING,
        description=f"Prunes the tables of {view.name} once a day, as `retention` says.",
    )
