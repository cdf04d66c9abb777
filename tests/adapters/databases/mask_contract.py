"""What every database owes to `columns: {mask: …}`: values are masked before a file of ours is written, and rows are counted as without these columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.spark.own_names import RAW, REJECT_COLUMN, REJECT_REASON
from incremental_assets.core.config.masks import with_masks
from incremental_assets.core.model.mask import REDACTED, Mask, MaskKey, text_mask
from incremental_assets.core.model.measure import RowHash
from incremental_assets.core.model.table import Cursor, NullPolicy, TableSpec
from tests.adapters.databases.contract import WHOLE, World, planned, spec_of
from tests.remains import remains

SECRET, NUMBER = "planted@secret.example", 8_777_666_555
KEY = MaskKey("a key of tokens that nobody can try all values of")
MASKS = (("email", Mask.HMAC), ("ssn", Mask.LAST4), ("odd", Mask.REDACT))


def members(world: World) -> TableSpec:
    """One who lands, one with a value that no copy can hold in a masked column, one of whom nothing is known."""
    stamp = "'2024-02-01 10:00:00'"
    world.execute(
        f"CREATE TABLE members (id integer NOT NULL PRIMARY KEY, email varchar(50), ssn bigint, odd {world.words.unfit}, updated_at {world.words.stamp} NULL)",
        f"INSERT INTO members VALUES (1, '{SECRET}', {NUMBER}, NULL, {stamp})",
        f"INSERT INTO members VALUES (2, '{SECRET}', {NUMBER}, {world.words.bad}, {stamp})",
        f"INSERT INTO members VALUES (3, NULL, NULL, NULL, {stamp})",
    )
    spec = spec_of(world, "members", Cursor("updated_at", world.words.stamps, NullPolicy.ALWAYS))
    return replace(with_masks(spec, MASKS), mask_key=KEY)


def read(world: World, spec: TableSpec) -> tuple[list[dict[str, Any]], list[str]]:
    """The rows as tasks get them, and where one of the values is in a file that was written for them."""
    probe = SqlProbe(world.address, "shop")
    with SparkSource(probe, world.address, lambda: None).snapshot(planned(probe, spec)) as taken:  # type: ignore[arg-type, return-value]
        assert taken.parts is not None
        files = [Path(part.path).parent for part in taken.parts if hasattr(part, "path")]
        rows = pa.concat_tables(table for part in taken.parts for table in part.batches()).to_pylist()
        left = [where for folder in files for where in remains(folder, SECRET, NUMBER)]
    probe.close()
    return sorted(rows, key=lambda row: str(row["c0"])), left


def test_values_are_masked_before_a_file_of_ours_is_written(world: World) -> None:
    one, bad, unknown = read(world, members(world))[0]

    token = text_mask(Mask.HMAC, KEY)(SECRET)
    assert (one["c1"], one["c2"], one["c3"]) == (token, "****6555", None)
    assert (bad["c1"], bad["c2"], bad[REJECT_COLUMN]) == (token, "****6555", "odd")
    assert bad[REJECT_REASON] == "the value of this masked column cannot land"
    assert f'"email": "{REDACTED}"' in bad[RAW]
    assert SECRET not in str((one, bad, unknown))
    assert str(NUMBER) not in str((one, bad, unknown))
    assert (unknown["c1"], unknown["c2"], unknown["c3"]) == (None, None, None)


def test_no_file_has_a_value_that_is_masked_and_has_it_where_it_is_not(world: World) -> None:
    spec = members(world)
    bare = replace(spec.as_read, masks=())
    masked, unmasked = read(world, spec), read(world, bare)

    assert masked[1] == []
    assert unmasked[0][0]["c1"] == SECRET
    # PostgreSQL's rows come to tasks without a file between.
    assert unmasked[1] == ([] if world.address.dialect == "postgresql" else ["rows.parquet"])


@pytest.mark.parametrize("by", ["text", "fastest"])
def test_rows_are_measured_without_masked_columns_and_without_those_that_cannot_land_for_one(
    by: str, world: World
) -> None:
    spec = members(world)
    probe = SqlProbe(world.address, "shop")
    how = RowHash.TEXT if by == "text" else probe.row_hash()
    (before,) = probe.measure(spec, (WHOLE,), how)
    world.execute("UPDATE members SET email = 'another' WHERE id = 1")
    (after,) = probe.measure(spec, (WHOLE,), how)
    bare = replace(spec.as_read, masks=())
    (unmasked,) = probe.measure(bare, (WHOLE,), how)
    probe.close()

    assert (before.rows, unmasked.rows) == (2, 2)
    assert after == before
    assert unmasked.digest != before.digest
