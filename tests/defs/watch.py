"""A sensor that is ticked by hand, and days on which everything has landed or a sync has failed."""

from __future__ import annotations

from dagster import AssetKey, RunRequest, build_sensor_context
from dagster._core.definitions.sensor_definition import SensorExecutionData

from incremental_assets.defs.tags import FIRST_TAG
from tests.defs.studio import Studio
from tests.scenario import COUNTRIES, ORDERS, monday, order

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")


def announced(run: RunRequest) -> tuple[str, str]:
    """The first and the last partition that a run is to announce; it is requested for the last alone."""
    assert run.tags[RANGE[0]] == run.tags[RANGE[1]]
    return run.tags[FIRST_TAG], run.tags[RANGE[1]]


class Watch:
    """A sensor that is ticked by hand and keeps its cursor, as the daemon does."""

    def __init__(self, studio: Studio, cursor: str | None = None) -> None:
        self.studio, self.cursor = studio, cursor
        repository = studio.definitions.get_repository_def()
        self.repository, self.sensor = repository, repository.get_sensor_def("sync__shop__sensor")

    def tick(self) -> SensorExecutionData:
        with build_sensor_context(
            instance=self.studio.instance,
            cursor=self.cursor,
            repository_def=self.repository,
            resources={"runtime": self.studio.runtime},
        ) as context:
            found = self.sensor.evaluate_tick(context)
        self.cursor = found.cursor if found.cursor is not None else self.cursor
        return found

    def asked(self) -> list[tuple[str, str, list[AssetKey]]]:
        """First and last partition and assets of each run that one tick asks for."""
        return [(*announced(run), list(run.asset_selection or [])) for run in self.runs()]

    def runs(self) -> list[RunRequest]:
        return [run for run in self.tick().run_requests or [] if isinstance(run, RunRequest)]

    def skipped(self) -> str:
        """Why a tick asks for nothing."""
        found = self.tick()
        assert not found.run_requests
        assert found.skip_message is not None
        return found.skip_message


def key(name: str) -> AssetKey:
    return AssetKey(["shop", "public", name])


def settle(studio: Studio) -> None:
    """Everything has landed, and nobody holds anything open."""
    studio.world.pass_time(10)
    studio.run("2024-01-01", mode="sync")
    studio.run("current", tables=[COUNTRIES], mode="sync")


def fail(studio: Studio) -> None:
    """A row without a stamp has come beside a good one, and the sync that met it failed."""
    monday(studio.world.database).abort()
    settle(studio)
    studio.world.database.insert(ORDERS, id=99, customer="ada", status="new", updated_at=None)
    order(studio.world.database, "alan", studio.world.database.stamp())
    assert not studio.run("2024-01-01", mode="sync").success
