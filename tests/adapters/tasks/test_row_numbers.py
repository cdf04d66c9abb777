"""Numbers of rows become a vector, and the vector the same numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.row_numbers import numbers_of, vector_of


@given(st.sets(st.integers(0, 2**40)))
def test_numbers_come_back_as_they_were(rows: set[int]) -> None:
    vector = vector_of(np.array(sorted(rows), dtype=np.int64))
    assert vector == BitMap64(rows)
    assert numbers_of(vector).tolist() == sorted(rows)
