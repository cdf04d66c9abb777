"""What every database owes to a key of which it takes values for equal that a copy holds differently: one row, however the key is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.core.differences.differing import differing
from incremental_assets.core.differences.gone import gone_keys
from incremental_assets.core.model.collation_key import NAME, collated, uncollated
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.window import Window
from tests.adapters.batches import Desk
from tests.adapters.databases.contract import World, planned, spec_of
from tests.adapters.databases.keys_contract import keys_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYWHERE = KeyParts(-(2**63), 2**63 - 1)
ALL = (Window(None, None),)


def tables(world: World) -> Iterator[tuple[TableSpec, str, str]]:
    """A table for each type of keys, in which there is one row and a few others; and the key of that row in its two spellings."""
    stamp, now = world.words.stamp, world.words.now
    for number, (kind, one, other) in enumerate(world.words.spellings):
        name = f"keyed_{number}"
        world.execute(
            f"CREATE TABLE {name} (code {kind} NOT NULL, no bigint NOT NULL, note varchar(20), updated_at {stamp} NOT NULL DEFAULT {now}, PRIMARY KEY (code, no))",
            f"INSERT INTO {name} (code, no, note) VALUES ({one}, 1, 'first')",
            f"INSERT INTO {name} (code, no, note) VALUES ({one}, 2, 'beside')",
        )
        yield collated(spec_of(world, name)), one, other


def written_anew(world: World, spec: TableSpec, one: str, other: str) -> None:
    """The same row, its key in the other spelling."""
    world.execute(
        f"UPDATE {spec.id.name} SET code = {other}, note = 'second', updated_at = {world.words.now} WHERE code = {one} AND no = 1"
    )


@contextmanager
def probing(world: World) -> Iterator[SqlProbe]:
    probe = SqlProbe(world.address, "shop")
    yield probe
    probe.close()


def landed(desk: Desk, world: World, spec: TableSpec) -> None:
    """What the source has now, landed as a sync does."""
    with probing(world) as probe:
        plan = desk.plan(spec)
        plan = replace(plan, reading=replace(plan.reading, window=planned(probe, spec).reading.window))
        with SparkSource(probe, world.address, lambda: desk.spark).snapshot(plan) as seen:
            batch = desk.stage.write(plan, seen)
        desk.apply(plan, batch, seen)  # type: ignore[arg-type]


def test_a_key_that_is_written_anew_is_the_same_key_and_another_row(world: World) -> None:
    assert world.words.spellings
    for spec, one, other in tables(world):
        assert spec.collation_key is not None
        with keys_of(world, spec) as keys, probing(world) as probe, probe.placed_rows(spec, ALL) as rows:
            assert rows is not None
            before, placed = keys.texts(EVERYWHERE), sorted(rows.hashes(EVERYWHERE))
            written = keys.as_written(before)
        written_anew(world, spec, one, other)
        with keys_of(world, spec) as keys, probing(world) as probe, probe.placed_rows(spec, ALL) as rows:
            assert rows is not None
            after = sorted(rows.hashes(EVERYWHERE))
            assert keys.texts(EVERYWHERE) == keys.present(before) == before
            assert len(before) == 2
            assert len(written - keys.as_written(before)) == 1
        assert [place for place, _ in after] == [place for place, _ in placed]
        assert len({*after} - {*placed}) == 1


@pytest.mark.acceptance
def test_a_key_that_is_written_anew_takes_the_place_of_its_row_in_a_copy(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    for number, (spec, one, other) in enumerate(islice(tables(world), 1)):
        desk = Desk(tmp_path / f"lake {number}", spark)
        landed(desk, world, spec)
        written_anew(world, spec, one, other)
        copy, rows = desk.lake.keys(spec), desk.lake.placed_rows(spec, ALL)
        assert copy is not None
        with keys_of(world, spec) as source, probing(world) as probe, probe.placed_rows(spec, ALL) as there:
            assert there is not None
            assert gone_keys(copy, source) == frozenset()
            found = differing(spec, rows, there)
        assert found is not None
        assert (found.missing, found.extra, len(found.places.numbers or ()), found.vanished.numbers) == (
            1,
            1,
            1,
            frozenset(),
        )
        landed(desk, world, spec)
        assert sorted((row["no"], row["note"]) for row in desk.read(spec).collect()) == [(1, "second"), (2, "beside")]
        with probing(world) as probe:
            (measured,) = probe.measure(spec, ALL)
        (held,) = desk.lake.measure(spec, ALL)()
        assert (held.rows, held.digest) == (measured.rows, measured.digest)
        assert NAME in desk.read(spec).columns


@pytest.mark.acceptance
def test_known_bad_keys_that_are_told_apart_as_they_are_written_stand_side_by_side(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    """As every copy had them: the collation key is the cure."""
    spec, one, other = next(iter(tables(world)))
    spec, desk = uncollated(spec), Desk(tmp_path / "lake", spark)
    landed(desk, world, spec)
    written_anew(world, spec, one, other)
    landed(desk, world, spec)
    assert len(desk.read(spec).collect()) == 3
