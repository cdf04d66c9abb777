"""The sensor and the runs that are in flight: which it waits for, and for how long."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest
from dagster import AssetCheckSeverity, DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.defs import sensors
from tests.defs.studio import Studio
from tests.defs.watch import Watch, settle
from tests.scenario import monday, order


def test_a_sync_in_flight_is_not_asked_for_twice(studio: Studio) -> None:
    monday(studio.world.database)
    (first, _) = Watch(studio).runs()
    run = create_run_for_test(studio.instance, tags=first.tags, status=DagsterRunStatus.STARTED)
    assert Watch(studio).skipped() == f"run {run.run_id} is still syncing shop"

    studio.instance.report_run_canceled(run)
    assert len(Watch(studio).runs()) == 2


def test_what_waits_for_a_run_that_takes_long_is_told_to_be_no_longer_fresh(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    watch = Watch(studio)
    assert [event.passed for event in watch.tick().asset_events] == [True]
    order(studio.world.database, "alan", studio.world.database.stamp())
    (asked,) = watch.runs()
    run = create_run_for_test(studio.instance, tags=asked.tags, status=DagsterRunStatus.STARTED)
    studio.world.pass_time(2 * 3600)
    assert list(watch.tick().asset_events) == [], "a run that has just begun lands it"

    monkeypatch.setattr(sensors, "_LONG", timedelta(seconds=-1))
    late = watch.tick()
    assert late.skip_message == f"run {run.run_id} is still syncing shop"
    assert [(event.passed, event.severity) for event in late.asset_events] == [(False, AssetCheckSeverity.ERROR)]
    assert list(watch.tick().asset_events) == []
    settle(studio)
    assert [event.passed for event in watch.tick().asset_events] == [True]


def test_a_sync_whose_process_is_gone_is_told_as_failed_and_waited_for_no_longer(studio: Studio) -> None:
    """As after a power cut, or when a run dies together with whoever watched over it."""
    monday(studio.world.database)
    (first, _) = Watch(studio).runs()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as ended:
        process = replace(ProcessIdentity.here(), pid=ended.pid)
    tags = {**first.tags, "incremental_assets/process": process.text}
    run = create_run_for_test(studio.instance, tags=tags, status=DagsterRunStatus.STARTED)

    assert len(Watch(studio).runs()) == 2
    told = studio.instance.get_run_by_id(run.run_id)
    assert told is not None
    assert told.status is DagsterRunStatus.FAILURE


def test_a_run_says_which_process_it_is(studio: Studio) -> None:
    monday(studio.world.database)
    run = studio.run("2024-01-01", mode="sync")
    found = studio.instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.tags["incremental_assets/process"] == ProcessIdentity.here().text


def test_a_backfill_in_flight_stops_no_sync(studio: Studio) -> None:
    monday(studio.world.database)
    create_run_for_test(studio.instance, tags={"incremental_assets/source": "shop"}, status=DagsterRunStatus.STARTED)
    assert len(Watch(studio).runs()) == 2
