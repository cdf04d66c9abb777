"""What every database owes to a comparison of keys: the same words for the same keys as the lake has, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.core.differences import gone
from incremental_assets.core.differences.gone import gone_keys
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import CopyKeys, SourceKeys
from tests.adapters.batches import Desk
from tests.adapters.databases.contract import World, of_window, orders, planned, spec_of, synced

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE_NUMBERS = KeyParts(-(2**63), 2**63 - 1)
FOLLOWED = Deletes(DeleteMode.DIFF)


@contextmanager
def keys_of(world: World, spec: TableSpec) -> Iterator[SourceKeys]:
    probe = SqlProbe(world.address, "shop")
    with probe.keys(spec) as keys:
        yield keys
    probe.close()


def copied(spark: SparkSession, folder: Path, world: World, spec: TableSpec) -> CopyKeys:
    """A copy of the table as it is, and its keys."""
    from incremental_assets.adapters.databases.spark_source import SparkSource

    desk, probe = Desk(folder / "lake", spark), SqlProbe(world.address, "shop")
    plan = of_window(desk.plan(spec), planned(probe, spec).reading.window)
    with SparkSource(probe, world.address, lambda: spark).snapshot(plan) as seen:
        batch = desk.stage.write(plan, seen)
    desk.apply(plan, batch, seen)  # type: ignore[arg-type]
    probe.close()
    keys = desk.lake.keys(spec)
    assert keys is not None
    return keys


def places(keys: SourceKeys, shift: int, within: KeyParts = WHOLE_NUMBERS) -> dict[int, int]:
    return {part: found.rows for part, found in keys.sums(within, shift).items()}


def test_keys_are_counted_by_parts_and_read_of_the_parts_that_are_asked_for(world: World) -> None:
    spec = orders(world, rows=40)
    with keys_of(world, spec) as keys:
        assert places(keys, 3) == {0: 7, 1: 8, 2: 8, 3: 8, 4: 8, 5: 1}
        some = KeyParts(1, 40, 3, frozenset({1, 4}))
        assert places(keys, 2, some) == {2: 4, 3: 4, 8: 4, 9: 4}
        assert keys.texts(some) == {*map(str, range(8, 16)), *map(str, range(32, 40))}
        assert keys.texts(KeyParts(39, 100)) == {"39", "40"}
        assert keys.present(frozenset({"1", "40", "41"})) == {"1", "40"}


def test_single_keys_are_found_by_their_very_texts_also_where_no_other_key_is_read(world: World) -> None:
    spec = orders(world, rows=3)
    with keys_of(world, spec) as keys:
        assert keys.present(frozenset({"1", "3", "4"})) == {"1", "3"}
        world.execute("DELETE FROM orders WHERE id = 3")
        assert keys.present(frozenset()) == frozenset()


def test_a_snapshot_shows_its_keys_as_they_were_when_the_plan_compares_them(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    assert planned(probe, spec).reading.finds_gone is False
    with probe.snapshot(planned(probe, spec)) as seen:
        assert seen.keys is None
    followed = replace(spec, deletes=FOLLOWED)
    with probe.snapshot(planned(probe, followed)) as seen:
        world.execute("DELETE FROM orders WHERE id = 2")
        assert seen.keys is not None
        assert seen.keys.texts(WHOLE_NUMBERS) == {"1", "2", "3"}
        assert seen.keys.present(frozenset({"2", "9"})) == {"2"}
    with keys_of(world, spec) as keys:
        assert keys.texts(WHOLE_NUMBERS) == {"1", "3"}


def test_a_sync_reads_as_many_rows_whether_it_compares_keys_or_not(world: World, probe: SqlProbe) -> None:
    spec = orders(world)
    assert synced(probe, spec)[0] == synced(probe, replace(spec, deletes=FOLLOWED))[0] == 3


@pytest.mark.parametrize("few", [0, 5_000])
def test_what_the_source_has_deleted_is_found_by_numbers(
    world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(gone, "FEW", few)
    spec = orders(world, rows=40)
    copy = copied(spark, tmp_path, world, spec)
    world.execute("DELETE FROM orders WHERE id IN (1, 17, 40)", "INSERT INTO orders (note) VALUES ('new')")
    with keys_of(world, spec) as source:
        found = gone_keys(copy, source)
    assert found == {"1", "17", "40"}
    assert sorted(copy.rows(found)["id"].to_pylist()) == [1, 17, 40]


@pytest.mark.acceptance
@pytest.mark.parametrize("few", [0, 5_000])
def test_what_the_source_has_deleted_is_found_by_hashes_of_any_key(
    world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(gone, "FEW", few)
    stamp = world.words.stamp
    world.execute(
        f"CREATE TABLE parcels (code {world.words.text} NOT NULL, day date NOT NULL, no bigint NOT NULL, updated_at {stamp} NOT NULL DEFAULT {world.words.now}, "
        "PRIMARY KEY (code, day, no))",
        *(
            f"INSERT INTO parcels (code, day, no) VALUES ('{code}', '{day}', {number})"
            for code in ("a", "A", "a,b", "", "ü1:", "~", "it''s")
            for day in ("2024-02-29", "1969-12-31")
            for number in (-1, 0, 2**62)
        ),
    )
    spec = spec_of(world, "parcels")
    copy = copied(spark, tmp_path, world, spec)
    with keys_of(world, spec) as source:
        assert gone_keys(copy, source) == frozenset()
    world.execute(
        "DELETE FROM parcels WHERE code = 'a,b' AND no = -1",
        "DELETE FROM parcels WHERE code = 'it''s' AND day = '1969-12-31' AND no = 0",
        "UPDATE parcels SET code = 'B' WHERE code = 'A' AND day = '2024-02-29' AND no = 0",
    )
    with keys_of(world, spec) as source:
        found = gone_keys(copy, source)
    assert len(found) == 4
    assert sorted((row["code"], str(row["day"]), row["no"]) for row in copy.rows(found).to_pylist()) == [
        ("A", "2024-02-29", 0),
        ("a,b", "1969-12-31", -1),
        ("a,b", "2024-02-29", -1),
        ("it's", "1969-12-31", 0),
    ]
