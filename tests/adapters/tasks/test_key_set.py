"""Keys that are looked up: by one column or by several, of any type, NULL being equal to NULL."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incremental_assets.adapters.delta.tasks.files.key_set import KeySet

PARTS = st.tuples(
    st.sampled_from([None, 0, 1, -1, 2**62]),
    st.sampled_from([None, "", "a", "é"]),
    st.sampled_from([None, Decimal("0.10"), Decimal(-1)]),
)


def columns(rows: Sequence[tuple[Any, ...]]) -> list[pa.ChunkedArray]:
    kinds = (pa.int64(), pa.string(), pa.decimal128(5, 2))
    middle = len(rows) // 2
    return [
        pa.chunked_array([pa.array(part, kind) for part in (values[:middle], values[middle:])], kind)
        for values, kind in zip([[row[place] for row in rows] for place in range(3)], kinds, strict=True)
    ]


@pytest.mark.parametrize("parts", [1, 2, 3])
@settings(deadline=None)
@given(keys=st.lists(PARTS, max_size=12), held=st.lists(PARTS, max_size=20))
def test_rows_are_found_by_all_parts_of_their_key(
    parts: int, keys: list[tuple[Any, ...]], held: list[tuple[Any, ...]]
) -> None:
    known = list(dict.fromkeys(key[:parts] for key in keys))
    padded = [(*key, *(None for _ in range(3 - parts))) for key in known]
    rows, which = KeySet.of(columns(padded)[:parts]).found(columns(held)[:parts])
    expected = [(row, known.index(each[:parts])) for row, each in enumerate(held) if each[:parts] in known]
    assert list(zip(rows.tolist(), which.tolist(), strict=True)) == expected
