"""What the sensor asks for, tick by tick."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dagster import (
    AssetKey,
    DagsterInstance,
    DagsterRunStatus,
    RunRequest,
    build_sensor_context,
)
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster._core.test_utils import create_run_for_test

from incremental_assets.adapters.process import ProcessIdentity
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.defs.tick import Memory, delay
from tests.defs.studio import Studio, opened
from tests.scenario import COUNTRIES, ORDERS, monday, order

RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")
DOWN = SourceUnreachable("shop: nobody answers at localhost:5432; start it, or check host and port")


class Watch:
    """A sensor that is ticked by hand and keeps its cursor, as the daemon does."""

    def __init__(self, studio: Studio, cursor: str | None = None) -> None:
        self.studio, self.cursor = studio, cursor
        repository = studio.definitions.get_repository_def()
        self.repository, (self.sensor,) = repository, repository.sensor_defs

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
        return [(*(run.tags[tag] for tag in RANGE), list(run.asset_selection or [])) for run in self.runs()]

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


def test_the_first_tick_asks_for_every_table_by_scheme_and_from_its_first_row_on(studio: Studio) -> None:
    order(studio.world.database, "early", "2023-11-05T00:00:00Z")
    monday(studio.world.database)
    watch = Watch(studio)
    runs = watch.runs()

    assert {run.job_name for run in runs} == {"sync__shop__month_20231001_job", "sync__shop__current_job"}
    assert {run.tags["mode"] for run in runs} == {"sync"}
    assert {run.tags["incremental_assets/source"] for run in runs} == {"shop"}
    assert [run.run_key for run in runs] == [None, None]
    assert sorted(Watch(studio).asked()) == [
        ("2023-11-01", "2024-01-01", [key("orders")]),
        ("current", "current", [key("countries")]),
    ]


def test_a_run_brings_no_check_that_reads_whole_tables(studio: Studio) -> None:
    monday(studio.world.database)
    watch = Watch(studio)
    for run in watch.runs():
        assert run.asset_check_keys is not None  # None would be all of them
        subset = watch.repository.get_job(str(run.job_name)).get_subset(
            asset_selection=set(run.asset_selection or []), asset_check_selection=set(run.asset_check_keys)
        )
        assert [node.name for node in subset.nodes] == [str(run.job_name).removesuffix("_job")]


def test_nothing_new_is_asked_for_nothing_and_said(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    assert Watch(studio).skipped() == "nothing changed"


def test_what_moved_is_asked_for_with_the_partitions_of_its_window_alone(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    studio.world.pass_time(40 * 86_400)
    order(studio.world.database, "alan", studio.world.database.stamp())
    studio.world.database.insert(COUNTRIES, code="ch", name="Switzerland")

    assert sorted(Watch(studio).asked()) == [
        ("2024-01-01", "2024-03-01", [key("orders")]),
        ("current", "current", [key("countries")]),
    ]


def test_tables_that_lag_differently_are_asked_for_in_runs_of_their_own(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    studio = opened(
        tmp_path,
        instance,
        """
        - {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, partitions: {every: month, from: 2023-10-01}}
        - {table: public.returns, cursor: {column: updated_at, type: timestamp}, strategy: upsert, partitions: {every: month, from: 2023-10-01}}
        """,
    )
    from dataclasses import replace

    from tests.scenario import ORDERS_SHAPE

    studio.world.database.create(replace(ORDERS_SHAPE, id=replace(ORDERS, name="returns")))
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z")
    settle(studio)
    order(studio.world.database, "alan", studio.world.database.stamp())
    studio.world.database.insert(
        replace(ORDERS, name="returns"), id=1, customer="ada", status="", updated_at="2023-12-05T00:00:00Z"
    )

    assert sorted(Watch(studio).asked()) == [
        ("2023-12-01", "2024-01-01", [key("returns")]),
        ("2024-01-01", "2024-01-01", [key("orders")]),
    ]


def test_a_sync_in_flight_is_not_asked_for_twice(studio: Studio) -> None:
    monday(studio.world.database)
    (first, _) = Watch(studio).runs()
    run = create_run_for_test(studio.instance, tags=first.tags, status=DagsterRunStatus.STARTED)
    assert Watch(studio).skipped() == f"run {run.run_id} is still syncing shop"

    studio.instance.report_run_canceled(run)
    assert len(Watch(studio).runs()) == 2


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


def test_a_source_that_fails_is_left_in_peace_for_longer_each_time_and_forgiven_at_once(studio: Studio) -> None:
    monday(studio.world.database)
    studio.runtime.broken = DOWN
    watch = Watch(studio)
    assert watch.skipped() == str(DOWN)
    waits = watch.skipped()
    assert waits.startswith(f"{DOWN} (failed 1 times; tried again at ")

    watch.cursor = json.dumps({**json.loads(watch.cursor or ""), "wait_until": 0.0})
    assert watch.skipped() == str(DOWN)
    assert Memory.read(watch.cursor).failures == 2
    studio.runtime.broken = None
    watch.cursor = json.dumps({**json.loads(watch.cursor or ""), "wait_until": 0.0})
    assert len(watch.runs()) == 2
    assert Memory.read(watch.cursor).failures == 0


def test_the_wait_doubles_up_to_an_hour() -> None:
    from datetime import timedelta

    assert [delay(timedelta(minutes=1), times) for times in (0, 1, 2, 10, 1000)] == [60, 120, 240, 3600, 3600]


def test_a_table_whose_sync_failed_is_asked_for_again_but_not_at_every_tick(studio: Studio) -> None:
    fail(studio)

    watch = Watch(studio)
    assert watch.asked() == [("2024-01-01", "2024-01-01", [key("orders")])]
    assert watch.skipped() == "shop.public.orders failed last time and waits"
    assert list(Memory.read(watch.cursor).waiting) == ["shop.public.orders"]


def test_a_table_that_has_failed_for_a_day_is_still_asked_for_once_an_hour(studio: Studio) -> None:
    fail(studio)

    watch = Watch(studio)
    watch.cursor = Memory(waiting={"shop.public.orders": (24, 0.0)}).write()
    begun = datetime.now(UTC).timestamp()
    assert watch.asked() == [("2024-01-01", "2024-01-01", [key("orders")])]
    ((times, until),) = Memory.read(watch.cursor).waiting.values()
    assert times == 25
    assert 3600 <= until - begun < 3700
    assert watch.skipped() == "shop.public.orders failed last time and waits"


def test_a_table_that_the_source_has_dropped_is_named_by_the_tick(studio: Studio) -> None:
    watch = Watch(studio)
    settle(studio)
    del studio.world.database.tables[COUNTRIES]
    assert "shop.public.countries: this user can see no such table" in watch.skipped()


def test_a_sync_that_was_refused_waits_as_one_that_failed(studio: Studio) -> None:
    """It waits for a person, and to ask every minute would only fill the history."""
    for code in ("ch", "de"):
        studio.world.database.insert(COUNTRIES, code=code, name=code)
    settle(studio)
    for code in ("ch", "de"):
        studio.world.database.delete(COUNTRIES, {"code": code})
    studio.world.pass_time(2 * 86_400)
    assert not studio.run("current", tables=[COUNTRIES], mode="sync").success

    watch = Watch(studio)
    assert [assets for _, _, assets in watch.asked()] == [[key("countries")]]
    assert watch.skipped() == "shop.public.countries failed last time and waits"


def test_a_sync_that_was_killed_is_asked_for_again_though_nothing_else_moved(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    assert Watch(studio).skipped() == "nothing changed"
    with studio.world.checkpoints.lease(ORDERS, "killed") as lease:
        lease.record(Event(ORDERS, EventKind.INTENT, "killed", 7, "batch"))
        lease.record(Event(ORDERS, EventKind.STAGED, "killed", 7, "batch"))
    assert [assets for _, _, assets in Watch(studio).asked()] == [[key("orders")]]


def test_garbage_and_another_version_in_the_cursor_are_an_empty_memory(studio: Studio) -> None:
    monday(studio.world.database)
    for cursor in (
        "",
        "garbage",
        "[]",
        "null",
        '{"v":0}',
        '{"v":1}',
        '{"v":1,"failures":"x","waiting":3}',
        '{"v":99,"wait_until":9e99}',
    ):
        assert Memory.read(cursor) == Memory()
        assert len(Watch(studio, cursor).runs()) == 2


def test_a_memory_reads_back_as_it_was_written() -> None:
    memory = Memory(2, 17.5, "down", {"shop.public.orders": (3, 99.5)}, {"shop.public.orders": "warn"}, 12.0)
    assert Memory.read(memory.write()) == memory


def test_a_table_that_may_not_go_on_is_named_and_not_asked_for(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    studio.world.database.exchange()
    assert "shop.public.orders: another database answers" in Watch(studio).skipped()


def test_a_table_that_cannot_be_resolved_is_named_and_the_others_go_on(studio: Studio) -> None:
    del studio.world.database.tables[ORDERS]
    watch = Watch(studio)
    assert watch.asked() == [("current", "current", [key("countries")])]
    studio.run("current", tables=[COUNTRIES], mode="sync")
    assert "shop.public.orders: this user can see no such table" in watch.skipped()


def test_a_new_table_shows_after_a_reload_and_the_tick_says_so(studio: Studio) -> None:
    from dataclasses import replace

    from tests.scenario import COUNTRIES_SHAPE

    monday(studio.world.database).abort()
    settle(studio)
    watch = Watch(studio)
    studio.world.database.create(replace(COUNTRIES_SHAPE, id=replace(COUNTRIES, name="cities")))
    assert (
        watch.skipped() == "nothing changed; 1 table is new (shop.public.cities): reload the code location to see them"
    )


def test_keys_of_integers_appear_as_the_table_grows_without_gaps(tmp_path: Path, instance: DagsterInstance) -> None:
    studio = opened(
        tmp_path,
        instance,
        "- {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: 100}}",
        "unlisted: ignore\n",
    )
    watch, name = Watch(studio), "shop.public.orders by 100"
    order(studio.world.database, "ada", "2024-01-05T00:00:00Z", number=150)
    order(studio.world.database, "first", "2024-01-05T00:00:00Z", number=37)
    first = watch.tick()
    (request,) = first.dynamic_partitions_requests or []
    keys = [f"{lower:019d}-{lower + 100:019d}" for lower in (0, 100)]
    assert request.partition_keys == keys
    assert [run.tags[RANGE[1]] for run in first.run_requests or [] if isinstance(run, RunRequest)] == [keys[1]]

    instance.add_dynamic_partitions(name, keys)
    studio.world.pass_time(10)
    assert studio.run(*keys, mode="sync").success
    order(studio.world.database, "alan", "2024-01-05T00:00:00Z", number=420)
    later = watch.tick()
    (request,) = later.dynamic_partitions_requests or []
    assert request.partition_keys == [f"{lower:019d}-{lower + 100:019d}" for lower in (200, 300, 400)]
    assert [run.tags[RANGE[0]] for run in later.run_requests or [] if isinstance(run, RunRequest)] == [keys[1]]


def test_the_keys_of_a_size_that_was_changed_are_asked_for_beside_the_older_ones_of_their_grid(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    table = "- {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: %d}}"
    old = opened(tmp_path, instance, table % 1000, "unlisted: ignore\n")
    order(old.world.database, "ada", "2024-01-05T00:00:00Z", number=950)
    (request,) = Watch(old).tick().dynamic_partitions_requests or []
    instance.add_dynamic_partitions("shop.public.orders by 1000", list(request.partition_keys))
    old.world.pass_time(10)
    assert old.run(*request.partition_keys, mode="sync").success

    new = opened(tmp_path, instance, table % 300, "unlisted: ignore\n")
    new.world = new.runtime.world = old.world
    order(new.world.database, "alan", "2024-01-05T00:00:00Z", number=1250)
    tick = Watch(new).tick()
    (request,) = tick.dynamic_partitions_requests or []
    keys = [f"{lower:019d}-{lower + 300:019d}" for lower in (0, 300, 600, 900, 1200)]
    assert (request.partitions_def_name, list(request.partition_keys)) == ("shop.public.orders by 300", keys)
    assert [
        (run.tags[RANGE[0]], run.tags[RANGE[1]]) for run in tick.run_requests or [] if isinstance(run, RunRequest)
    ] == [(keys[3], keys[4])]


def test_lag_is_told_without_a_run_when_it_changes_and_once_an_hour(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    watch = Watch(studio)
    assert [event.passed for event in watch.tick().asset_events] == [True]
    assert list(watch.tick().asset_events) == []

    order(studio.world.database, "alan", studio.world.database.stamp())
    studio.world.pass_time(2 * 3600)
    (stale,) = watch.tick().asset_events
    assert not stale.passed
    assert list(watch.tick().asset_events) == []
    watch.cursor = json.dumps({**json.loads(watch.cursor or ""), "told_at": 0.0})
    assert [event.passed for event in watch.tick().asset_events] == [False]


def test_a_copy_that_another_hand_has_restored_is_asked_for_while_its_table_stands_still(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    studio.world.lake.foreign(ORDERS, "OPTIMIZE")
    watch = Watch(studio)
    assert watch.skipped() == "nothing changed"
    studio.world.lake.foreign(ORDERS, "RESTORE", [])

    assert [assets for _, _, assets in watch.asked()] == [[key("orders")]]
    run = studio.run("2024-01-01", mode="sync")
    assert not run.success
    assert "failed last time and waits" in (watch.tick() and watch.skipped())
