"""`coverage`: the ledger and Dagster's partitions, side by side."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest
from dagster import AssetKey, AssetMaterialization, DagsterInstance

from tests.cli.conftest import Call, Once, Outside
from tests.scenario import ORDERS, monday, order


@pytest.fixture
def synced(call: Call, outside: Outside, once: Once) -> Outside:
    """After Monday's sync."""

    def begin() -> None:
        monday(outside.world.database).abort()
        outside.world.pass_time(10)
        assert call("sync").code == 0

    return once(begin)


def test_before_anything_has_landed_nothing_is_missing(call: Call) -> None:
    said = call("coverage", "--json")
    assert said.code == 0
    assert said.document == {"tables": []}


def test_a_table_without_a_watermark_is_not_counted_as_covered(call: Call, synced: Outside) -> None:
    assert "1 of 1 table is covered up to their watermark" in call("coverage").out
    assert call("reset", "--select", "public.orders", "--yes").code == 0
    said, orders = call("coverage"), call("coverage", "--json").tables["public.orders"]
    assert said.code == 0
    assert "0 of 1 table is covered up to their watermark; 1 table has no watermark" in said.out
    assert (orders["agrees"], orders["begun"], orders["covered"]) == (True, False, [])


def test_what_a_sync_announced_is_covered_and_no_source_is_asked(call: Call, synced: Outside) -> None:
    synced.broken = AssertionError("asked")
    said = call("coverage", "--json")
    orders = said.tables["public.orders"]

    assert said.code == 0
    assert orders["agrees"]
    assert orders["partitions"] == ["2024-01-01"]
    assert orders["week_begins_on"] is None, "months say it themselves"
    assert orders["covered"][0]["lower"] is None
    assert (orders["gaps"], orders["not_covered"], orders["not_announced"]) == ([], [], [])
    assert "public.countries" not in said.tables, "it has no windows"


def test_months_that_passed_while_nothing_moved_are_announced_by_the_next_sync(call: Call, synced: Outside) -> None:
    for _ in range(2):
        synced.world.pass_time(45 * 86_400)
        assert call("sync").code == 0
    order(synced.world.database, "alan", synced.world.database.stamp())
    assert call("sync").code == 0

    orders = call("coverage", "--json").tables["public.orders"]
    assert orders["partitions"] == ["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]
    assert orders["not_announced"] == []


def test_a_watermark_that_was_pushed_forward_leaves_a_gap_that_is_named(call: Call, synced: Outside) -> None:
    synced.world.pass_time(60 * 86_400)
    assert call("reset", "--select", "shop.public.orders", "--to", "2024-03-01T00:00:00Z", "--yes").code == 0
    with DagsterInstance.from_config(os.environ["DAGSTER_HOME"]) as instance:
        told = AssetMaterialization(AssetKey([ORDERS.source, ORDERS.schema, ORDERS.name]), partition="2024-02-01")
        instance.report_runless_asset_event(told)

    said = call("coverage")
    assert said.code == 1
    assert "nothing has landed from [2024-01-29T" in said.out
    assert "Dagster shows as materialized what has not been covered: 2024-01-01, 2024-02-01" in said.out


def test_a_table_in_weeks_says_on_which_day_they_begin(call: Call, outside: Outside, config: Path) -> None:
    config.write_text(config.read_text().replace("every: month", "every: week"))
    monday(outside.world.database).abort()
    outside.world.pass_time(10)
    assert call("sync").code == 0

    orders = call("coverage", "--json").tables["public.orders"]
    assert orders["week_begins_on"] == "Sunday"
    assert orders["partitions"], "and what is named so is there"
    assert {f"{date.fromisoformat(key):%A}" for key in orders["partitions"]} == {"Sunday"}
    assert "a week begins on Sunday" in call("coverage").out
