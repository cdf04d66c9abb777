"""How many rows a file of a copy has, by the source's estimates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incremental_assets.adapters.delta.file_size import FILE_BYTES, rows_per_file
from tests.adapters.batches import ORDERS


@pytest.mark.parametrize(
    ("rows", "size", "expected"),
    [
        (1_000, FILE_BYTES, 1_000),
        (1_000, 4 * FILE_BYTES, 250),
        (1, 4 * FILE_BYTES, 1),
        (0, 8192, None),
        # A foreign table: PostgreSQL estimates its rows, and has none of its bytes.
        (1_000, 0, None),
    ],
)
def test_rows_of_a_file_follow_from_both_estimates_of_the_source(rows: int, size: int, expected: int | None) -> None:
    assert rows_per_file(replace(ORDERS, shape=replace(ORDERS.shape, rows=rows, bytes=size))) == expected
