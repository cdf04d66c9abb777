"""All of one configuration's definitions, around whatever opens it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster import Definitions, in_process_executor

from incremental_assets.core.config import Configuration
from incremental_assets.core.table import TableShape
from incremental_assets.defs.assets import sync_assets
from incremental_assets.defs.checks import check_assets
from incremental_assets.defs.jobs import check_job, check_schedule, sync_jobs
from incremental_assets.defs.sensors import sync_sensor
from incremental_assets.defs.tables import View


def views(configuration: Configuration, catalogues: Mapping[str, tuple[TableShape, ...]]) -> tuple[View, ...]:
    """Every source that has a table, as far as it is known without asking it."""
    seen = (
        View.of(source, configuration.path, configuration.lake, catalogues.get(source.name, ()))
        for source in configuration.sources
    )
    return tuple(view for view in seen if view.tables)


def build(
    configuration: Configuration, catalogues: Mapping[str, tuple[TableShape, ...]], resources: Mapping[str, Any]
) -> Definitions:
    """Nothing is asked and nothing opened here; `resources` are bound as they are."""
    return Definitions.merge(
        # One Spark session per run: a process per step would start a JVM for each of them.
        Definitions(resources=dict(resources), executor=in_process_executor),
        *(_source(view) for view in views(configuration, catalogues)),
    )


def _source(view: View) -> Definitions:
    jobs, checking = sync_jobs(view), check_job(view)
    return Definitions(
        assets=[*view.external(), *sync_assets(view)],
        asset_checks=check_assets(view),
        jobs=[*jobs.values(), checking],
        schedules=check_schedule(view, checking),
        sensors=[sync_sensor(view, jobs)],
    )
