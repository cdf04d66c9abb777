"""All definitions of one configuration, for a given runtime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dagster import Definitions

from incremental_assets.core.config.settings import Configuration
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.defs.assets import sync_assets
from incremental_assets.defs.checks import check_assets
from incremental_assets.defs.jobs import check_job, check_schedule, sync_jobs
from incremental_assets.defs.opened import RESOURCE
from incremental_assets.defs.prune import prune_job, prune_schedule, prunes
from incremental_assets.defs.repair import repair_job
from incremental_assets.defs.sensors import sync_sensor
from incremental_assets.defs.tables import Home, View
from incremental_assets.defs.translation import Translation, keys_of


def views(
    configuration: Configuration,
    catalogues: Mapping[str, tuple[TableShape, ...]],
    resource: str = RESOURCE,
    translation: Translation | None = None,
) -> tuple[View, ...]:
    """Every source that has a known table, without querying it. `resource` is the key of what opens the sources; `translation`, where a project says more than the file does by itself."""
    home = Home(
        configuration.path,
        configuration.lake,
        resource,
        configuration.ledger,
        configuration.logs,
        translation or Translation.of_file(configuration),
    )
    seen = [View.of(source, home, catalogues.get(source.name, ())) for source in configuration.sources]
    keys = keys_of((table for view in seen for table in view.copies), home.translation)
    return tuple(replace(view, keys=keys) for view in seen if view.tables)


def build(
    configuration: Configuration,
    catalogues: Mapping[str, tuple[TableShape, ...]],
    resources: Mapping[str, Any],
    resource: str = RESOURCE,
    translation: Translation | None = None,
) -> Definitions:
    """Queries and opens nothing; `resources` are bound as they are, and `resource` is the key of the runtime among them."""
    return Definitions.merge(
        Definitions(resources=dict(resources)),
        *(_source(view) for view in views(configuration, catalogues, resource, translation)),
    )


def _source(view: View) -> Definitions:
    jobs, checking = sync_jobs(view), check_job(view)
    pruning = [prune_job(view)] if prunes(view) else []
    return Definitions(
        assets=[*view.external(), *sync_assets(view)],
        asset_checks=check_assets(view),
        jobs=[*jobs.values(), checking, repair_job(view), *pruning],
        schedules=[*check_schedule(view, checking), *(prune_schedule(view, each) for each in pruning)],
        sensors=[sync_sensor(view, jobs)],
    )
