"""T10: what has landed is shown by Dagster, whoever landed it and whenever it died."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance, build_sensor_context

from incremental_assets import load
from incremental_assets.defs.announced import Announced
from incremental_assets.defs.build import build
from tests.conformance.conftest import OpenStand
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand

VISITS = "CREATE TABLE visits (id int PRIMARY KEY, who text, at timestamptz NOT NULL DEFAULT now())"
ROWS = "INSERT INTO visits VALUES (1, 'ann', '2024-01-05Z'), (2, 'bob', '2024-02-05Z'), (3, 'cyd', '2024-04-05Z')"
TABLE = "- {table: public.visits, cursor: {column: at, type: timestamp}, strategy: append, partitions: {every: month, from: 2023-10-01}}"
SHOWN = {"2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"}


@contextmanager
def home(folder: Path) -> Iterator[DagsterInstance]:
    """A new one, beside the lake."""
    folder.mkdir()
    with DagsterInstance.local_temp(str(folder)) as instance:
        yield instance


def tick(desk: Stand, instance: DagsterInstance, cursor: str | None = None) -> str | None:
    """One look of the sensor, and its cursor after it."""
    with desk.runtime() as runtime:
        catalogue = runtime.probe("shop").catalogue()
        repository = build(load(desk.shop.config), {"shop": catalogue}, {"runtime": runtime}).get_repository_def()
        (sensor,) = repository.sensor_defs
        with build_sensor_context(
            instance=instance, cursor=cursor, repository_def=repository, resources={"runtime": runtime}
        ) as context:
            return sensor.evaluate_tick(context).cursor


@scenario(
    "T10",
    "three months have landed by a run that died before it told Dagster, or before the home of Dagster was made; then the source drops its first month",
    holds="the sensor's next look shows every month that the copy has, by no run; the look after it asks Dagster nothing",
)
def test_a_new_home_shows_what_has_landed(stand: OpenStand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = stand(TABLE, VISITS, ROWS)
    desk.land()
    desk.execute("DELETE FROM visits WHERE id = 1")
    desk.land()
    with home(tmp_path / "new") as instance:
        cursor = tick(desk, instance)
        assert instance.get_materialized_partitions(AssetKey(["shop", "public", "visits"])) == SHOWN
        assert instance.get_runs() == []
        asked: list[object] = []
        monkeypatch.setattr(Announced, "behind", lambda *given: asked.append(given) or frozenset())
        assert tick(desk, instance, cursor) == cursor
        assert asked == []
