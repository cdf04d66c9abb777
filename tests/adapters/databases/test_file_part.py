"""The file that a snapshot leaves, in the parts that tasks read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from incremental_assets.adapters.databases import file_part
from incremental_assets.adapters.databases.file_part import FilePart
from incremental_assets.adapters.databases.spooled_rows import write_rows
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.table_shape import TableShape
from incremental_assets.core.strategies import Strategy

SPEC = TableSpec(
    TableShape(TableId("shop", "main", "numbers"), (Column("n", "bigint", "bigint", Fidelity.EXACT),)),
    Strategy.FULL_REFRESH,
)


def parts(folder: Path, rows: int) -> tuple[FilePart, ...]:
    path = folder / "rows.parquet"
    write_rows(path, SPEC, ((number, None, None, None, False) for number in range(rows)))
    return FilePart.of(path, SPEC)


@pytest.mark.parametrize("bytes_", [1, 150_000, 1 << 30])
def test_every_row_is_in_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_: int) -> None:
    monkeypatch.setattr(file_part, "_BYTES", bytes_)
    found = parts(tmp_path, 95_000)
    assert len(found) == {1: 8, 150_000: 2, 1 << 30: 1}[bytes_]
    read = [number for part in found for rows in part.batches() for number in rows["c0"].to_pylist()]
    assert Counter(read) == Counter(range(95_000))


def test_a_file_without_rows_is_one_part_without_rows(tmp_path: Path) -> None:
    (only,) = parts(tmp_path, 0)
    assert sum(rows.num_rows for rows in only.batches()) == 0
