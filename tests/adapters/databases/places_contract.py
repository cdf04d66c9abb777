"""What every database owes to a repair: the same places and hashes for the same rows as the lake has, and a read of those rows alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.differences import differing as bisecting
from incremental_assets.core.differences.comparing import rows_to_read
from incremental_assets.core.differences.differing import Differing, differing
from incremental_assets.core.differences.gone import gone_keys
from incremental_assets.core.model.key_parts import KeyParts, Selected
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, SyncPlan
from incremental_assets.core.ports import Lake, PlacedRows
from tests.adapters.batches import Desk
from tests.adapters.databases.contract import World, of_window, orders, planned, rows_of, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL = (Window(None, None),)


def copied(spark: SparkSession, folder: Path, world: World, spec: TableSpec) -> Lake:
    """A copy of the table as it is."""
    from incremental_assets.adapters.databases.spark_source import SparkSource

    desk, probe = Desk(folder / "lake", spark), SqlProbe(world.address, "shop")
    source = SparkSource(probe, world.address, lambda: spark)
    plan = of_window(desk.plan(spec), planned(probe, spec).reading.window)
    with source.snapshot(plan) as seen:
        batch = desk.stage.write(plan, seen)
    desk.apply(plan, batch, seen)  # type: ignore[arg-type]
    probe.close()
    return desk.lake


def found(world: World, lake: Lake, spec: TableSpec) -> Differing:
    probe = SqlProbe(world.address, "shop")
    copy = lake.placed_rows(spec, ALL)
    with probe.placed_rows(spec, ALL) as source:
        assert source is not None
        differs = differing(spec, copy, source)
    probe.close()
    assert differs is not None
    return differs


def repairing(probe: SqlProbe, spec: TableSpec, places: KeyParts) -> SyncPlan:
    """The plan that reads these rows of the whole table."""
    plan = planned(probe, spec)
    return replace(plan, request=replace(plan.request, mode=Mode.REPAIR, places=places))


@pytest.mark.parametrize("few", [0, 5_000])
def test_rows_that_differ_are_found_by_numbers_and_read_alone(
    world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(bisecting, "FEW", few)
    spec = orders(world, rows=40)
    lake = copied(spark, tmp_path, world, spec)
    assert found(world, lake, spec).places.numbers == frozenset()
    world.execute(
        "UPDATE orders SET note = 'other' WHERE id IN (3, 17)",
        "DELETE FROM orders WHERE id = 40",
        "INSERT INTO orders (note) VALUES ('new')",
    )
    differs = found(world, lake, spec)
    assert (differs.missing, differs.extra) == (3, 3)
    assert differs.places.numbers == frozenset({3, 17, 40, 41})
    probe = SqlProbe(world.address, "shop")
    plan = repairing(probe, spec, differs.places)
    with probe.snapshot(plan) as seen:
        assert (seen.rows, seen.fingerprint) == (3, None)
    probe.close()
    assert [(row[0], row[1]) for row in rows_of(spark, world, plan)] == [(17, "other"), (3, "other"), (41, "new")]


@pytest.mark.acceptance
@pytest.mark.parametrize("few", [0, 5_000])
@pytest.mark.parametrize("keyed", [True, False])
def test_rows_that_differ_are_found_by_hashes_of_any_key_or_of_the_row(
    world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, *, keyed: bool
) -> None:
    monkeypatch.setattr(bisecting, "FEW", few)
    stamp = world.words.stamp
    world.execute(
        f"CREATE TABLE parcels (code {world.words.text} NOT NULL, day date NOT NULL, no bigint NOT NULL, weight bigint, "
        f"updated_at {stamp} NOT NULL DEFAULT {world.words.now}, PRIMARY KEY (code, day, no))",
        *(
            f"INSERT INTO parcels (code, day, no) VALUES ('{code}', '{day}', {number})"
            for code in ("a", "A", "a,b", "", "ü1:", "~", "it''s")
            for day in ("2024-02-29", "1969-12-31")
            for number in (-1, 0)
        ),
    )
    terms = {} if keyed else {"key": (), "key_enforced": False, "strategy": Strategy.APPEND}
    spec = spec_of(world, "parcels", **terms)
    lake = copied(spark, tmp_path, world, spec)
    assert found(world, lake, spec).places.numbers == frozenset()
    world.execute(
        "UPDATE parcels SET weight = 7 WHERE code = 'a,b' AND no = -1",
        "DELETE FROM parcels WHERE code = 'it''s' AND day = '1969-12-31' AND no = 0",
    )
    differs = found(world, lake, spec)
    assert (differs.missing, differs.extra, len(differs.places.numbers or ())) == (2, 3, 3 if keyed else 2)
    probe = SqlProbe(world.address, "shop")
    plan = repairing(probe, spec, differs.places)
    probe.close()
    assert sorted((row[0], str(row[1]), row[2], row[3]) for row in rows_of(spark, world, plan)) == [
        ("a,b", "1969-12-31", -1, 7),
        ("a,b", "2024-02-29", -1, 7),
    ]


def test_rows_of_other_windows_and_rows_that_cannot_land_are_not_counted(world: World) -> None:
    spec = orders(world)
    probe = SqlProbe(world.address, "shop")
    with probe.placed_rows(spec, ALL) as rows:
        assert rows is not None
        assert rows.spread().rows == 3
        assert [place for place, _ in sorted(rows.hashes(KeyParts(2, 3)))] == [2, 3]
    whole = planned(probe, spec)
    assert whole.reading.new_watermark is not None
    # All three were stamped a moment ago.
    with probe.placed_rows(spec, (Window(None, whole.reading.new_watermark.minus(timedelta(days=1))),)) as rows:
        assert rows is not None
        assert rows.spread().rows == 0
        assert rows.sums(KeyParts(0, 10), 0) == {}
    with probe.placed_rows(replace(spec, cursor=None, compares=True), (Window(None, None),)) as rows:
        assert rows is not None
        assert rows.spread().rows == 3
    probe.close()


@pytest.mark.acceptance
@pytest.mark.parametrize("few", [0, 5_000])
def test_a_comparison_gives_what_differs_and_what_no_copy_can_hold_from_one_snapshot(
    world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    from incremental_assets.adapters.databases.spark_source import SparkSource

    monkeypatch.setattr(bisecting, "FEW", few)
    words = world.words
    world.execute(
        f"CREATE TABLE prices (sku {words.text} NOT NULL PRIMARY KEY, note {words.text}, price {words.unfit})",
        *(f"INSERT INTO prices (sku) VALUES ('sku {number}')" for number in range(12)),
    )
    spec = replace(spec_of(world, "prices"), cursor=None, compares=True)
    lake = copied(spark, tmp_path, world, spec)
    world.execute(
        "UPDATE prices SET note = 'other' WHERE sku = 'sku 7'",
        "DELETE FROM prices WHERE sku = 'sku 3'",
        "UPDATE prices SET sku = 'SKU 4' WHERE sku = 'sku 4'",
        f"INSERT INTO prices VALUES ('bad', '', {words.bad})",
    )
    probe, copy = SqlProbe(world.address, "shop"), lake.placed_rows(spec, ALL)
    plan = planned(probe, spec)
    plan = replace(plan, reading=replace(plan.reading, finds_differing=True, finds_gone=True))

    def seek(source: PlacedRows) -> Selected:
        found = rows_to_read(spec, copy, source)
        if world.address.dialect != "sqlite":  # which nobody can write while it is read
            world.execute("INSERT INTO prices (sku) VALUES ('after the snapshot')")
        return found

    with SparkSource(probe, world.address, lambda: spark).compared(plan, seek) as seen:
        assert (seen.rows, seen.rejected) == (3, 1)
        assert seen.selected is not None
        assert (seen.selected.rows, len(seen.selected.places.numbers or ())) == (11, 4)  # type: ignore[union-attr]
        read = sorted(row["sku"] for row in seen.frame.select("sku").collect())
        assert read == ["SKU 4", "bad", "sku 7"]
        held, there = lake.keys(spec), seen.keys
        assert held is not None
        assert there is not None
        gone = gone_keys(held, there, places=seen.selected.places)
        assert sorted(lake.readable(spec, text) for text in gone) == ["sku 3", "sku 4"]
    probe.close()
