"""Values of Arrow as the whole numbers that they are stored as, without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Numbers = np.ndarray[Any, np.dtype[np.int64]]


def whole_numbers(values: pa.Array) -> Numbers | None:
    """The values as whole numbers, in the order of the values and equal where they are; None for a type that is not stored so, and where one is NULL."""
    kind = values.type
    if values.null_count or not (
        pa.types.is_signed_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    ):
        return None
    found: Numbers = (values if pa.types.is_integer(kind) else values.view(f"int{kind.bit_width}")).to_numpy()
    return found
