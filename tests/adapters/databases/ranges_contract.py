"""What every database owes to a first load that goes range by range: each row lies in one range, or the database says that it is not read so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.key_range import KeyRange, Place
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from tests.adapters.databases.contract import World, observe, rows_of, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WITHOUT = ("sqlite",)
"""Databases that are not read in ranges."""
_KEYS = {
    "one number": ("id bigint NOT NULL, other integer NOT NULL", "id", [f"{number * 7 - 20}, 0" for number in range(10)]),
    "two numbers": (
        "tenant integer NOT NULL, id bigint NOT NULL", "tenant, id",
        ["-1, 3", "1, 1", "1, 2", "1, 9007199254740993", "1, 9007199254740994", "2, -5", "2, 0", "2, 7", "3, 1", "9, 9"],
    ),
}  # fmt: skip


def table(world: World, columns: str, key: str, rows: list[str]) -> TableSpec:
    """Ten rows in the order of their key, of which the database knows that."""
    stamp = "'2024-01-01 10:00:00'"
    world.execute(
        f"CREATE TABLE parts ({columns}, updated_at {world.words.stamp} NOT NULL, PRIMARY KEY ({key}))",
        f"INSERT INTO parts VALUES {', '.join(f'({row}, {stamp})' for row in rows)}",
        *(["ANALYZE parts"] if world.address.dialect == "postgresql" else []),
    )
    return spec_of(world, "parts")


def ranges_of(probe: SqlProbe, spec: TableSpec, rows: int) -> list[tuple[KeyRange, ...]]:
    """One step after the other, to the end."""
    found, after = list[tuple[KeyRange, ...]](), None
    while not found or after is not None:
        step = probe.key_ranges(spec, after, rows)
        assert step is not None
        assert [each.after for each in step] == [after, *(each.upto for each in step[:-1])]
        found.append(step)
        after = step[-1].upto
    return found


def of_ranges(probe: SqlProbe, spec: TableSpec, ranges: tuple[KeyRange, ...]) -> SyncPlan:
    """The plan of a part of a first load."""
    found = plan(spec, Request("run", ranges=ranges), None, CommitIds("app", 0, "batch"), observe(probe, spec))
    assert isinstance(found, SyncPlan)
    reading: Any = found.reading
    return replace(found, reading=replace(reading, ranges=ranges))


@pytest.mark.parametrize("kind", _KEYS)
@pytest.mark.parametrize("rows", [1, 4, 100])
def test_each_row_lies_in_one_range_of_its_key(
    world: World, probe: SqlProbe, spark: SparkSession, kind: str, rows: int
) -> None:
    spec = table(world, *_KEYS[kind])
    if world.address.dialect in _WITHOUT:
        assert probe.key_ranges(spec, None, rows) is None
        return
    steps = ranges_of(probe, spec, rows)
    assert len(steps) == {1: 11, 4: 3, 100: 1}[rows]
    read = [rows_of(spark, world, of_ranges(probe, spec, step)) for step in steps]
    assert [len(each) for each in read] == {1: [1] * 10 + [0], 4: [4, 4, 2], 100: [10]}[rows]
    assert sorted(row for each in read for row in each) == sorted(
        rows_of(spark, world, of_ranges(probe, spec, (KeyRange(),)))
    )


def test_the_source_counts_the_rows_of_a_range_in_its_snapshot(world: World, probe: SqlProbe) -> None:
    spec = table(world, *_KEYS["two numbers"])
    if world.address.dialect in _WITHOUT:
        return
    places: list[Place] = [("1", "2"), ("2", "-5")]
    with probe.snapshot(of_ranges(probe, spec, (KeyRange(*places),))) as numbers:
        assert (numbers.rows, numbers.fingerprint) == (3, None)


def test_a_key_in_another_order_than_that_of_its_index_is_not_read_in_ranges(world: World, probe: SqlProbe) -> None:
    spec = table(world, *_KEYS["two numbers"])
    assert probe.key_ranges(replace(spec, key=("id", "tenant")), None, 4) is None
