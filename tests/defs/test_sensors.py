"""What the sensor asks for, tick by tick."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dagster import DagsterInstance

from tests.defs.studio import Studio, opened
from tests.defs.watch import Watch, key, settle
from tests.scenario import COUNTRIES, ORDERS, monday, order


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

    from tests.scenario import COUNTRIES_SHAPE

    monday(studio.world.database).abort()
    settle(studio)
    watch = Watch(studio)
    studio.world.database.create(replace(COUNTRIES_SHAPE, id=replace(COUNTRIES, name="cities")))
    assert (
        watch.skipped() == "nothing changed; 1 table is new (shop.public.cities): reload the code location to see them"
    )


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
