"""The core's keys and Dagster's are the same, to the last one."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from dagster import DagsterInstance

from incremental_assets.core.config.settings import SourceConfig, TableConfig
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import (
    CURRENT,
    WEEK_BEGINS_ON,
    Every,
    Grid,
    TimeGrid,
    has_weeks,
    keys,
    window_of,
)
from incremental_assets.core.model.table import Strategy
from incremental_assets.defs.names import plain
from incremental_assets.defs.partitions import Scheme, definition, offer, scheme_of

GRIDS = [
    TimeGrid(Every.HOUR, date(2024, 3, 30)),
    TimeGrid(Every.DAY, date(2023, 2, 27)),
    TimeGrid.containing(Every.WEEK, date(2023, 1, 4)),
    TimeGrid(Every.MONTH, date(2019, 11, 1)),
]
NOW = datetime(2024, 10, 27, 1, 30, tzinfo=UTC)


def table(grid: Grid | None, name: str = "orders") -> TableConfig:
    return TableConfig("public", name, Strategy.UPSERT, partitions=grid)


def source() -> SourceConfig:
    return SourceConfig("shop", "postgresql")


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.every)
@pytest.mark.parametrize(
    "now", [NOW, datetime(2024, 11, 1, tzinfo=UTC), datetime(2024, 10, 31, 23, 59, 59, tzinfo=UTC)]
)
def test_keys_of_a_time_grid_are_those_of_dagster_with_the_open_one(grid: TimeGrid, now: datetime) -> None:
    theirs = definition(Scheme("shop", "x", grid)).get_partition_keys(current_time=now)
    assert list(keys(grid, now)) == list(theirs)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.every)
def test_windows_of_keys_are_those_of_dagster(grid: TimeGrid) -> None:
    theirs = definition(Scheme("shop", "x", grid))
    for key in keys(grid, NOW)[-40:]:
        window = window_of(grid, key, CursorType.TIMESTAMP)
        bounds = theirs.time_window_for_partition_key(key)  # type: ignore[attr-defined]
        assert window.lower is not None
        assert window.upper is not None
        assert (window.lower.moment(), window.upper.moment()) == (bounds.start, bounds.end)


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.every)
def test_weeks_alone_begin_on_a_day_that_must_be_named_and_dagster_begins_them_on_it(grid: TimeGrid) -> None:
    theirs = definition(Scheme("shop", "x", grid)).get_partition_keys(current_time=NOW)
    days = {f"{date.fromisoformat(key[:10]):%A}" for key in theirs}
    assert has_weeks(grid) == (days == {WEEK_BEGINS_ON})
    assert has_weeks(grid) == (grid.every is Every.WEEK)


def test_a_table_without_a_grid_has_the_one_key_current() -> None:
    assert definition(scheme_of(source(), table(None))).get_partition_keys() == [CURRENT]


def test_tables_share_a_scheme_if_they_share_a_grid_and_integers_never_do() -> None:
    month, size = TimeGrid(Every.MONTH, date(2024, 1, 1)), IntegerGrid(100)
    assert scheme_of(source(), table(month)) == scheme_of(source(), table(month, "returns"))
    assert scheme_of(source(), table(size)) != scheme_of(source(), table(size, "returns"))
    assert scheme_of(source(), table(size)).dynamic == "shop.public.orders by 100"


def test_plain_names_stay_and_the_others_keep_apart() -> None:
    assert plain("sync", "shop", "month") == "sync__shop__month"
    assert len({plain("a-b"), plain("a.b"), plain("a b"), plain("a_b")}) == 4


BY_TEN = Scheme("shop", "orders", IntegerGrid(10), dynamic="shop.public.orders by 10")


def number_key(lower: int) -> str:
    return f"{lower:019d}-{lower + 10:019d}"


def known(instance: DagsterInstance) -> list[int]:
    return [int(key[:19]) for key in instance.get_dynamic_partitions(BY_TEN.dynamic)]


def add(instance: DagsterInstance, *lowers: int) -> None:
    instance.add_dynamic_partitions(BY_TEN.dynamic, [number_key(lower) for lower in lowers])


def test_keys_that_a_backfill_needs_are_offered_in_order_and_without_gaps() -> None:
    with DagsterInstance.ephemeral() as instance:
        offer(instance, BY_TEN, [number_key(20)])
        assert known(instance) == [20]
        offer(instance, BY_TEN, [number_key(40)])
        assert known(instance) == [20, 30, 40]
        offer(instance, BY_TEN, [number_key(0)])
        assert known(instance) == [0, 10, 20, 30, 40]


def test_keys_that_a_tick_adds_while_lower_ones_are_offered_stand_behind_these(monkeypatch: pytest.MonkeyPatch) -> None:
    with DagsterInstance.ephemeral() as instance:
        add(instance, 20, 30)
        delete, ticks = instance.delete_dynamic_partition, iter([(30, 40)])

        def delete_beside_a_tick(name: str, key: str) -> None:
            delete(name, key)
            add(instance, *next(ticks, ()))

        monkeypatch.setattr(instance, "delete_dynamic_partition", delete_beside_a_tick)
        offer(instance, BY_TEN, [number_key(0)])
        assert known(instance) == [0, 10, 20, 30, 40]


def test_a_process_that_ends_while_it_offers_lower_keys_leaves_the_first_ones_that_there_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with DagsterInstance.ephemeral() as instance:
        add(instance, 20, 30, 40)
        delete = instance.delete_dynamic_partition

        def delete_one(name: str, key: str) -> None:
            delete(name, key)
            raise KeyboardInterrupt

        monkeypatch.setattr(instance, "delete_dynamic_partition", delete_one)
        with pytest.raises(KeyboardInterrupt):
            offer(instance, BY_TEN, [number_key(0)])
        assert known(instance) == [20, 30]
