"""What has failed is asked for again later each time; what the sensor remembers of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dagster import DagsterInstance

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.planning.events import Event, EventKind
from incremental_assets.core.syncing.delay import delay
from incremental_assets.defs.tick import Memory
from tests.defs.studio import TERMS, Studio, opened
from tests.defs.watch import Watch, fail, key, settle
from tests.scenario import COUNTRIES, ORDERS, monday, order

DOWN = SourceUnreachable("shop: nobody answers at localhost:5432; start it, or check host and port")


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


def test_in_its_quiet_time_a_source_is_not_looked_at_and_the_tick_says_until_when(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    now = datetime.now(UTC)
    begins, ends = (f"{now + timedelta(hours=hours):%H:%M}" for hours in (-2, 2))
    resting = opened(tmp_path, instance, options=f"quiet: {begins}-{ends}\ncheck_at: never\n")
    monday(resting.world.database)
    resting.runtime.broken = DOWN
    said = Watch(resting).skipped()
    assert said.startswith("shop is quiet until ")
    assert f"{ends}Z (`quiet: {begins}-{ends}`)" in said
    assert "a sync by hand or a backfill does not wait" in said


def test_a_table_with_a_schedule_is_asked_for_when_it_is_due(tmp_path: Path, instance: DagsterInstance) -> None:
    scheduled = opened(tmp_path, instance, TERMS + '      schedule: "0 6 * * *"\n')
    settle(scheduled)
    order(scheduled.world.database, "alan", scheduled.world.database.stamp())
    scheduled.world.pass_time(60)
    watch = Watch(scheduled)
    assert key("orders") not in [asset for _, _, assets in watch.asked() for asset in assets]
    scheduled.world.pass_time(86_400)
    assert key("orders") in [asset for _, _, assets in watch.asked() for asset in assets]


def test_the_wait_doubles_up_to_an_hour() -> None:
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
