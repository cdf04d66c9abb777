"""Checks that a sync and the sensor report: Dagster shows them as evaluated for the newest materialization, and does not show them grey."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import AssetCheckKey, DagsterInstance
from dagster._core.loader import LoadingContextForTest

from tests.defs.studio import Studio, opened
from tests.defs.watch import Watch, key, settle
from tests.scenario import monday, order


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    """In the files that Dagster has by default, which keep times to the second."""
    with DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield opened(tmp_path, instance)


def shown(studio: Studio, name: str) -> bool:
    """Whether the page of the asset has an answer of this check for the newest materialization, as its query asks for it."""
    record = studio.instance.get_latest_asset_check_evaluation_record(AssetCheckKey(key("orders"), name))
    assert record is not None
    return asyncio.run(record.targets_latest_materialization(LoadingContextForTest(studio.instance)))


def landed(studio: Studio) -> None:
    order(studio.world.database, "alan", studio.world.database.stamp())
    studio.world.pass_time(10)
    assert studio.run("2024-01-01", mode="sync").success


def test_what_a_sync_has_checked_is_shown_for_what_it_has_landed_each_time(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    assert shown(studio, "schema")
    landed(studio)
    assert shown(studio, "schema")


def test_freshness_is_reported_again_once_something_has_landed_and_only_then(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    watch = Watch(studio)

    def told() -> list[str]:
        events = watch.tick().asset_events
        for each in events:
            studio.instance.report_runless_asset_event(each)  # type: ignore[arg-type]
        return [each.check_name for each in events]  # type: ignore[union-attr]

    assert told() == ["freshness"]
    assert shown(studio, "freshness")
    landed(studio)
    assert not shown(studio, "freshness")
    assert told() == ["freshness"]
    assert shown(studio, "freshness")
    assert told() == []
