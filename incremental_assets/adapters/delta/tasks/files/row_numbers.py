"""Numbers of rows, as a vector of those that are gone and as an array: from one to the other without an object of Python for each."""

from __future__ import annotations

from array import array

import numpy as np
from pyroaring import BitMap64

from incremental_assets.adapters.delta.tasks.files.whole_numbers import Numbers

_WIDE = "Q"


def vector_of(numbers: Numbers) -> BitMap64:
    """The same numbers as a vector; none of them is below zero."""
    return BitMap64(array(_WIDE, numbers.astype(np.uint64).tobytes()))


def numbers_of(vector: BitMap64) -> Numbers:
    """The same numbers, ascending."""
    return np.array(vector.to_array(), dtype=np.int64)
