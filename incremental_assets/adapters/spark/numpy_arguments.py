"""Keep PySpark from importing its tools for tests, and with them pandas, a quarter of a CPU second, just to see that an argument for Java is none of NumPy's."""

from __future__ import annotations

import sys
from typing import Any


def numpy_arguments() -> None:
    """See it by NumPy alone, of which a process that has not imported it holds no value."""
    from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

    NumpyScalarConverter.can_convert = _is_scalar  # type: ignore[method-assign, assignment]
    NumpyArrayConverter.can_convert = _is_row  # type: ignore[method-assign, assignment]


def _is_scalar(_: object, obj: object) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.generic)


def _is_row(_: object, obj: Any) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.ndarray) and obj.ndim == 1
