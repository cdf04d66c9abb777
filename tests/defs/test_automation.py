"""What lies downstream follows by itself: Dagster's declarative automation on top of these assets."""

from __future__ import annotations

from dagster import (
    AssetKey,
    AutomationCondition,
    Definitions,
    MonthlyPartitionsDefinition,
    asset,
    evaluate_automation_conditions,
)

from tests.defs.studio import Studio
from tests.scenario import monday, order

ORDERS = AssetKey(["shop", "public", "orders"])
FROM_THE_FIRST_ROW = AutomationCondition.eager().without(~AutomationCondition.any_deps_missing())
"""Months before the table's first row are never announced, and `eager` alone would wait for them."""


@asset(deps=[ORDERS], automation_condition=FROM_THE_FIRST_ROW)
def revenue() -> None:
    """Reads the whole copy."""


@asset(
    deps=[ORDERS],
    partitions_def=MonthlyPartitionsDefinition("2023-10-01", end_offset=1),
    automation_condition=AutomationCondition.any_deps_updated(),
)
def revenue_by_month() -> None:
    """Reads one month of it."""


def test_what_reads_a_copy_is_asked_for_after_each_sync_that_landed_and_after_no_idle_one(studio: Studio) -> None:
    defs = Definitions.merge(studio.definitions, Definitions(assets=[revenue, revenue_by_month]))
    look = evaluate_automation_conditions(defs=defs, instance=studio.instance)
    assert look.total_requested == 0

    monday(studio.world.database).abort()
    studio.world.pass_time(10)
    assert studio.run("2024-01-01", mode="sync").success
    look = evaluate_automation_conditions(defs=defs, instance=studio.instance, cursor=look.cursor)
    assert look.get_num_requested(revenue.key) == 1
    assert look.get_requested_partitions(revenue_by_month.key) == {"2024-01-01"}

    assert studio.run("2024-01-01", mode="sync").success
    look = evaluate_automation_conditions(defs=defs, instance=studio.instance, cursor=look.cursor)
    assert look.total_requested == 0

    order(studio.world.database, "late", "2023-12-05T00:00:00Z")
    assert studio.run("2023-12-01").success
    look = evaluate_automation_conditions(defs=defs, instance=studio.instance, cursor=look.cursor)
    assert look.get_requested_partitions(revenue_by_month.key) == {"2023-12-01"}
