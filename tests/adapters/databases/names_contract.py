"""What every database owes to `column_names`: a table answers by the copy's names as it does by its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.registry import dialect_of
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.spark.own_names import RAW, REJECT_COLUMN
from incremental_assets.core.config.where import parse_where
from incremental_assets.core.model.as_copied import as_copied, in_source
from incremental_assets.core.model.key_parts import KeyParts
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.naming import ColumnNames
from incremental_assets.core.model.table import Cursor, NullPolicy, TableSpec
from tests.adapters.databases.contract import WHOLE, World, planned, spec_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYS = KeyParts(-(2**63), 2**63 - 1)


def members(world: World) -> TableSpec:
    """One who lands, and one with a value that no copy can hold, in a table that nobody would name so."""
    quote = "`" if world.address.dialect in ("mariadb", "mysql") else '"'
    number, name, odd, stamp = (
        f"{quote}{each}{quote}" for each in ("Member No.", "Full Name", "oddValue", "Changed At")
    )
    world.execute(
        f"CREATE TABLE members ({number} integer NOT NULL PRIMARY KEY, {name} varchar(50), {odd} {world.words.unfit}, {stamp} {world.words.stamp} NULL)",
        "INSERT INTO members VALUES (1, 'Ada', NULL, '2024-02-01 10:00:00')",
        f"INSERT INTO members VALUES (2, 'Bob', {world.words.bad}, '2024-02-01 10:00:00')",
    )
    cursor = Cursor("Changed At", world.words.stamps, NullPolicy.ALWAYS)
    spec = spec_of(world, "members", cursor, where=parse_where('"Member No." < 100'))
    return as_copied(spec, ColumnNames.SNAKE_CASE)


def read(world: World, spec: TableSpec) -> list[dict[str, Any]]:
    """The rows as tasks get them."""
    probe = SqlProbe(world.address, "shop")
    with SparkSource(probe, world.address, lambda: None).snapshot(planned(probe, spec)) as taken:  # type: ignore[arg-type, return-value]
        assert taken.parts is not None
        rows = pa.concat_tables(table for part in taken.parts for table in part.batches()).to_pylist()
    probe.close()
    return sorted(rows, key=lambda row: str(row["c0"]))


def test_rows_come_by_the_names_of_the_copy_also_those_that_cannot_land(world: World) -> None:
    spec = members(world)
    one, bad = read(world, spec)

    assert spec.shape.names == ("member_no", "full_name", "odd_value", "changed_at")
    assert (one["c0"], one["c1"], bad["c1"]) == (1, "Ada", "Bob")
    assert bad[REJECT_COLUMN] == "odd_value"
    assert '"full_name": "Bob"' in bad[RAW].replace('":"', '": "')
    assert "Full Name" not in bad[RAW]


def test_a_table_is_counted_hashed_and_told_of_as_by_its_own_names(world: World) -> None:
    spec = members(world)
    own = in_source(spec)
    probe = SqlProbe(world.address, "shop")
    for by in {RowHash.TEXT, probe.row_hash()}:
        assert probe.measure(spec, (WHOLE,), by) == probe.measure(own, (WHOLE,), by)
    assert probe.lowest([spec]) == probe.lowest([own])
    assert probe.highest([spec]) == probe.highest([own])
    assert probe.key_ends(spec) == probe.key_ends(own)
    assert probe.peek(spec, 3) == probe.peek(own, 3)
    assert len(probe.lateness([spec])) == len(probe.estimates([planned(probe, spec)])) == 1
    with probe.keys(spec) as named, probe.keys(own) as kept:
        assert named.sums(_KEYS, 64) == kept.sums(_KEYS, 64)
    probe.close()


def test_sparks_own_reader_has_the_names_of_the_copy(spark: SparkSession, world: World) -> None:
    spec = members(world)
    probe = SqlProbe(world.address, "shop")
    with SparkSource(probe, world.address, lambda: spark).snapshot(planned(probe, spec)) as taken:
        found = {row["member_no"]: row for row in taken.frame.collect()}
    own, reader = in_source(spec), dialect_of(world.address.dialect).reader(world.address)
    hashes = reader.row_hashes(spark, own, (WHOLE,)).count()
    probe.close()

    assert found[1]["full_name"] == "Ada"
    assert found[2][REJECT_COLUMN] == "odd_value"
    assert '"full_name":"Bob"' in found[2][RAW].replace('": "', '":"')
    assert hashes == 1
