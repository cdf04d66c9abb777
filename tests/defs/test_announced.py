"""What has landed is shown by Dagster, whoever landed it and whenever it was killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import AssetKey, DagsterInstance
from sqlalchemy import event
from sqlalchemy.engine import Engine

from incremental_assets.defs import assets, sensors
from tests.defs.studio import Studio, opened
from tests.defs.watch import Watch, key, settle
from tests.scenario import COUNTRIES, ORDERS, order

MONTHS = ["2023-11-01", "2023-12-01", "2024-01-01"]


def rows(studio: Studio) -> None:
    order(studio.world.database, "ada", "2023-11-05T00:00:00Z")
    order(studio.world.database, "alan", "2024-01-05T00:00:00Z")


def run_requested(studio: Studio, watch: Watch) -> None:
    """Every run that a tick asks for."""
    tick = watch.tick()
    for more in tick.dynamic_partitions_requests or ():
        studio.instance.add_dynamic_partitions(more.partitions_def_name, list(more.partition_keys))
    for run in tick.run_requests or ():
        tables = [
            ORDERS if key == AssetKey(["shop", "public", "orders"]) else COUNTRIES for key in run.asset_selection or ()
        ]
        studio.run("", tables=tables, tags=dict(run.tags))


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Of Dagster's storage, from now on."""
    seen: list[str] = []

    def note(*given: object) -> None:
        seen.append(str(given[2]))

    event.listen(Engine, "before_cursor_execute", note)
    yield seen
    event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def killed(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> Studio:
    """A first sync of both tables whose process ended between the commit and what it tells Dagster."""
    rows(studio)
    studio.world.pass_time(10)
    with monkeypatch.context() as patch:
        patch.setattr(assets, "_results", _dies)
        run_requested(studio, Watch(studio))
    assert studio.announced() == []
    assert studio.world.checkpoints.position(ORDERS).state is not None
    return studio


def _dies(*_: object) -> Iterator[object]:
    raise SystemExit


def test_what_a_killed_run_had_landed_is_announced_by_the_next_tick(killed: Studio) -> None:
    watch = Watch(killed)
    assert watch.skipped() == "nothing changed"
    assert killed.announced() == MONTHS
    assert killed.announced(COUNTRIES) == ["current"]
    assert watch.skipped() == "nothing changed"
    assert killed.announced() == MONTHS


def test_a_look_announces_what_it_has_time_for_and_the_next_ones_the_rest(
    killed: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "ANNOUNCING", 0.0)
    watch = Watch(killed)
    assert watch.skipped() == "nothing changed"
    assert [bool(killed.announced()), bool(killed.announced(COUNTRIES))].count(True) == 1
    assert watch.skipped() == "nothing changed"
    assert (killed.announced(), killed.announced(COUNTRIES)) == (MONTHS, ["current"])


def test_what_a_killed_run_had_landed_is_announced_with_what_comes_next(killed: Studio) -> None:
    order(killed.world.database, "grace", killed.world.database.stamp())
    killed.world.pass_time(10)
    watch = Watch(killed)
    run_requested(killed, watch)
    assert sorted(set(killed.announced())) == MONTHS
    assert killed.announced(COUNTRIES) == ["current"]


def test_a_run_that_a_person_starts_announces_what_had_landed_before_it(killed: Studio) -> None:
    killed.run("2024-01-01", mode="sync")
    assert killed.announced() == MONTHS


def test_a_run_that_a_person_starts_on_one_partition_shows_the_others_that_it_lands(studio: Studio) -> None:
    rows(studio)
    settle(studio)
    Watch(studio).tick()
    studio.world.pass_time(40 * 86_400)
    order(studio.world.database, "edsger", studio.world.database.stamp())
    studio.world.pass_time(10)
    studio.run("2024-01-01", mode="sync")
    assert sorted(set(studio.announced())) == [*MONTHS, "2024-02-01", "2024-03-01"]


def test_a_new_home_beside_a_landed_lake_shows_it_at_its_first_tick(tmp_path: Path, studio: Studio) -> None:
    rows(studio)
    settle(studio)
    with DagsterInstance.ephemeral() as home:
        moved = Studio(studio.world, studio.runtime, home)
        watch = Watch(moved)
        assert watch.skipped() == "nothing changed"
        assert moved.announced() == studio.announced() == MONTHS
        assert moved.announced(COUNTRIES) == ["current"]


def test_a_grid_that_is_another_one_now_shows_what_had_landed(tmp_path: Path, studio: Studio) -> None:
    rows(studio)
    settle(studio)
    weeks = """
        - {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: upsert, partitions: {every: week, from: 2023-10-01}}
    """
    other = opened(tmp_path, studio.instance, weeks)
    again = Studio(studio.world, other.runtime, studio.instance)
    other.runtime.world = studio.world
    assert Watch(again).skipped() == "nothing changed"
    assert [each for each in again.announced() if each not in MONTHS][:2] == ["2023-11-05", "2023-11-12"]


def test_numbers_have_their_keys_in_a_new_home(tmp_path: Path, instance: DagsterInstance) -> None:
    numbered = """
        - {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: 2}}
    """
    studio = opened(tmp_path, instance, numbered, "unlisted: ignore\n")
    for name in ("ada", "alan", "grace"):
        order(studio.world.database, name, "2024-01-05T00:00:00Z")
    studio.world.pass_time(10)
    run_requested(studio, Watch(studio))
    assert len(studio.announced()) == 2
    with DagsterInstance.ephemeral() as home:
        moved = Studio(studio.world, studio.runtime, home)
        assert Watch(moved).skipped() == "nothing changed"
        assert moved.announced() == studio.announced()
        (scheme,) = moved.view.by_scheme()
        assert sorted(home.get_dynamic_partitions(scheme.dynamic)) == moved.announced()


def test_a_look_at_tables_that_stand_still_asks_dagster_for_no_more_than_before(
    studio: Studio, statements: list[str]
) -> None:
    rows(studio)
    settle(studio)
    watch = Watch(studio)
    watch.tick()
    statements.clear()
    watch.tick()
    assert not [each for each in statements if "kvs" in each or "event_logs" in each]
    assert watch.cursor is not None


def test_a_lost_memory_costs_one_statement_for_all_tables(studio: Studio, statements: list[str]) -> None:
    rows(studio)
    settle(studio)
    Watch(studio).tick()
    statements.clear()
    Watch(studio).tick()
    assert len([each for each in statements if "kvs" in each]) == 1
    assert not [each for each in statements if "event_logs" in each and "INSERT" in each]


def test_what_a_run_is_still_at_work_on_is_left_to_it(killed: Studio) -> None:
    from dagster import DagsterRunStatus
    from dagster._core.test_utils import create_run_for_test

    backfill = create_run_for_test(
        killed.instance, status=DagsterRunStatus.STARTED, asset_selection=frozenset({key("orders")})
    )
    watch = Watch(killed)
    watch.tick()
    assert (killed.announced(), killed.announced(COUNTRIES)) == ([], ["current"])
    killed.instance.report_run_failed(backfill)
    watch.tick()
    assert killed.announced() == MONTHS


def test_a_table_on_other_terms_is_left_to_its_sync(tmp_path: Path, killed: Studio) -> None:
    appended = """
        - {table: public.orders, cursor: {column: updated_at, type: timestamp}, strategy: append, partitions: {every: month, from: 2023-10-01}}
    """
    other = opened(tmp_path, killed.instance, appended)
    other.runtime.world = killed.world
    again = Studio(killed.world, other.runtime, killed.instance)
    assert "other terms" in Watch(again).skipped()
    assert again.announced() == []


def test_numbers_that_lie_far_apart_have_their_open_keys_in_a_new_home(
    tmp_path: Path, instance: DagsterInstance
) -> None:
    numbered = """
        - {table: public.orders, cursor: {column: id, type: integer}, strategy: append, partitions: {size: 2}}
    """
    studio = opened(tmp_path, instance, numbered, "unlisted: ignore\n")
    for number in (1, 2, 3, 10**15):
        studio.world.database.insert(ORDERS, id=number, customer="ada", status="new", updated_at="2024-01-05T00:00:00Z")
    studio.world.pass_time(10)
    run_requested(studio, Watch(studio))
    assert any(each and each.startswith("from-") for each in studio.announced())
    with DagsterInstance.ephemeral() as home:
        moved = Studio(studio.world, studio.runtime, home)
        assert Watch(moved).skipped() == "nothing changed"
        assert moved.announced() == studio.announced()


def test_rows_that_their_source_no_longer_has_are_shown_in_a_new_home(studio: Studio) -> None:
    rows(studio)
    settle(studio)
    studio.world.database.delete(ORDERS, {"customer": "ada"})
    studio.world.pass_time(10)
    with DagsterInstance.ephemeral() as home:
        moved = Studio(studio.world, studio.runtime, home)
        Watch(moved).tick()
        run_requested(moved, Watch(moved))
        assert sorted(set(moved.announced())) == MONTHS


def test_a_run_of_another_process_is_shown_where_only_its_sequence_is_new(studio: Studio) -> None:
    """Two homes beside one lake: each shows what the other's runs have landed."""
    rows(studio)
    settle(studio)
    with DagsterInstance.ephemeral() as home:
        moved = Studio(studio.world, studio.runtime, home)
        watch = Watch(moved)
        watch.tick()
        order(studio.world.database, "grace", studio.world.database.stamp())
        studio.world.pass_time(40 * 86_400)
        order(studio.world.database, "edsger", studio.world.database.stamp())
        studio.world.pass_time(10)
        run_requested(studio, Watch(studio))
        assert watch.skipped() == "nothing changed"
        assert (
            moved.announced()
            == sorted(set(studio.announced()))
            == [*MONTHS, "2024-02-01", "2024-03-01"][: len(set(studio.announced()))]
        )
