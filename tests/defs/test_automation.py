"""What lies downstream follows by itself: Dagster's declarative automation on top of these assets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from dagster import (
    AssetKey,
    AutomationCondition,
    Definitions,
    MonthlyPartitionsDefinition,
    asset,
    build_sensor_context,
    evaluate_automation_conditions,
)

from incremental_assets.core.checks.shown import settled_keys
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.partition import Every, TimeGrid
from incremental_assets.core.model.window import Window
from incremental_assets.defs.awaited import announce_awaited
from tests.defs.studio import Studio
from tests.defs.watch import Watch, settle
from tests.scenario import ORDERS as SHOP_ORDERS
from tests.scenario import monday, order

ORDERS = AssetKey(["shop", "public", "orders"])


@asset(deps=[ORDERS], automation_condition=AutomationCondition.eager())
def revenue() -> None:
    """Reads the whole copy."""


@asset(
    deps=[ORDERS],
    partitions_def=MonthlyPartitionsDefinition("2023-10-01", end_offset=1),
    automation_condition=AutomationCondition.any_deps_updated(),
)
def revenue_by_month() -> None:
    """Reads one month of it."""


@pytest.fixture
def watched(studio: Studio) -> Studio:
    """The shop on Monday, with what reads it, and a sensor that looks."""
    downstream = Definitions(assets=[revenue, revenue_by_month])
    studio.__dict__["definitions"] = Definitions.merge(studio.definitions, downstream)
    monday(studio.world.database).abort()
    studio.world.pass_time(10)
    return studio


def test_what_reads_a_copy_is_asked_for_after_each_sync_that_landed_and_after_no_idle_one(watched: Studio) -> None:
    studio, watch = watched, Watch(watched)
    look = evaluate_automation_conditions(defs=studio.definitions, instance=studio.instance)
    assert look.total_requested == 0

    assert studio.run("2024-01-01", mode="sync").success
    look = evaluate_automation_conditions(defs=studio.definitions, instance=studio.instance, cursor=look.cursor)
    assert look.get_num_requested(revenue.key) == 0, "October is missing"
    assert look.get_requested_partitions(revenue_by_month.key) == {"2024-01-01"}

    watch.tick()
    look = evaluate_automation_conditions(defs=studio.definitions, instance=studio.instance, cursor=look.cursor)
    assert look.get_num_requested(revenue.key) == 1

    assert studio.run("2024-01-01", mode="sync").success
    watch.tick()
    look = evaluate_automation_conditions(defs=studio.definitions, instance=studio.instance, cursor=look.cursor)
    assert look.total_requested == 0

    order(studio.world.database, "late", "2023-12-05T00:00:00Z")
    assert studio.run("2023-12-01").success
    look = evaluate_automation_conditions(defs=studio.definitions, instance=studio.instance, cursor=look.cursor)
    assert look.get_num_requested(revenue.key) == 1
    assert look.get_requested_partitions(revenue_by_month.key) == {"2023-12-01"}


def test_windows_without_a_row_are_announced_once_and_say_that_they_are_empty(watched: Studio) -> None:
    watch = Watch(watched)
    settle(watched)
    before = watched.announced()
    watch.tick()
    after = watched.announced()
    assert set(after) > set(before)
    assert set(after) == set(watched.instance.get_materialized_partitions(ORDERS))
    assert after[0] == "2023-10-01"
    assert watched.by_partition("rows_read")["2023-10-01"] == [0]
    for _ in range(3):
        watch.tick()
    assert watched.announced() == after


def test_no_empty_window_is_announced_where_nobody_waits_for_it(studio: Studio) -> None:
    monday(studio.world.database).abort()
    settle(studio)
    before = studio.announced()
    Watch(studio).tick()
    assert studio.announced() == before
    assert "2023-10-01" not in before


def test_a_window_that_was_never_read_is_no_empty_one(watched: Studio) -> None:
    settle(watched)
    state = watched.world.checkpoints.position(SHOP_ORDERS).state
    assert state is not None
    grid = watched.view.tables[0].scheme.grid
    (spec,) = (spec for spec in watched.runtime.specs("shop").specs if spec.id == SHOP_ORDERS)
    assert isinstance(grid, TimeGrid)
    now = datetime(2024, 1, 20, tzinfo=UTC)
    assert settled_keys(spec, grid, state, now)[0] == "2023-10-01"
    begun = replace(state.position, coverage=(Window(CursorValue.of(spec.read_by.type, "2023-11-15T00:00:00Z"), None),))  # type: ignore[union-attr]
    assert settled_keys(spec, grid, replace(state, position=begun), now)[0] == "2023-12-01"


@pytest.mark.parametrize(
    "grid", [TimeGrid(Every.MONTH, date(2031, 1, 1)), TimeGrid(Every.HOUR, date(1990, 1, 1))], ids=["later", "too long"]
)
def test_a_grid_that_begins_later_or_is_too_long_stops_no_look(watched: Studio, grid: TimeGrid) -> None:
    settle(watched)
    context = build_sensor_context(instance=watched.instance, repository_def=watched.definitions.get_repository_def())
    first, *rest = watched.view.tables
    view = replace(watched.view, tables=(replace(first, scheme=replace(first.scheme, grid=grid)), *rest))
    specs = {spec.id: spec for spec in watched.runtime.specs("shop").specs}
    assert announce_awaited(context, view, specs, watched.world.checkpoints.positions(), ()) == []
