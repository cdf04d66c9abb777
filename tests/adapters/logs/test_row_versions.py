"""What became of each row of a table that was emptied more than once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from incremental_assets.adapters.logs.row_versions import row_versions
from incremental_assets.adapters.spark.own_names import IS_GONE
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies.strategy import Strategy
from tests.adapters.logs.test_batch import Written

COLUMNS = (
    Column("id", "integer", "int", Fidelity.EXACT),
    Column("n", "integer", "int", Fidelity.EXACT),
    Column("big", "text", "string", Fidelity.EXACT),
)
SPEC = TableSpec(TableShape(TableId("shop", "public", "orders"), COLUMNS), Strategy.UPSERT, key=("id",))


def test_a_truncation_ends_what_came_since_the_one_before_and_the_copy_is_read_once() -> None:
    reads: list[Sequence[str]] = []

    def copy(_spec: TableSpec, names: Sequence[str], _of: pa.Table | None) -> pa.Table:
        reads.append(names)
        return pa.table({"id": pa.array([1, 2], pa.int32())})

    source = Written({1: {"id": 1, "n": 0, "big": "old"}, 2: {"id": 2, "n": 0, "big": "old"}})
    source.truncate()
    source.put(3, 7, "x")
    source.truncate()
    source.truncate()
    source.put(1, 8, "y")
    found = row_versions(SPEC, source.changes(), copy)
    told = [(row["c0"], row["c1"], row[IS_GONE]) for row in found.select(["c0", "c1", IS_GONE]).to_pylist()]
    assert sorted(told[:2]) == [(1, None, True), (2, None, True)]
    assert told[2:] == [(3, 7, False), (3, None, True), (1, 8, False)]
    assert reads == [["id"]]
