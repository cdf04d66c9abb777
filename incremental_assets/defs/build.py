"""All of one configuration's definitions, around whatever opens it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster import AssetsDefinition, AssetSpec, Definitions, in_process_executor

from incremental_assets.core.config import Configuration
from incremental_assets.core.table import TableShape
from incremental_assets.defs.assets import sync_assets
from incremental_assets.defs.checks import check_assets
from incremental_assets.defs.jobs import check_job, sync_jobs
from incremental_assets.defs.sensors import sync_sensor
from incremental_assets.defs.tables import View


def views(configuration: Configuration, catalogues: Mapping[str, tuple[TableShape, ...]]) -> tuple[View, ...]:
    """Every source that has a table, as far as it is known without asking it."""
    seen = (View.of(source, configuration.path, configuration.lake, catalogues.get(source.name, ())) for source in configuration.sources)
    return tuple(view for view in seen if view.tables)


def build(configuration: Configuration, catalogues: Mapping[str, tuple[TableShape, ...]], resources: Mapping[str, Any]) -> Definitions:
    """Nothing is asked and nothing opened here; `resources` are bound as they are."""
    shown = views(configuration, catalogues)
    assets: list[AssetSpec | AssetsDefinition] = [spec for view in shown for spec in view.external()]
    for view in shown:
        assets += sync_assets(view)
    return Definitions(
        assets=assets,
        asset_checks=[check_assets(view) for view in shown],
        jobs=[job for view in shown for job in (*sync_jobs(view).values(), check_job(view))],
        sensors=[sync_sensor(view) for view in shown],
        resources=dict(resources),
        # One Spark session per run: a process per step would start a JVM for each of them.
        executor=in_process_executor,
    )
