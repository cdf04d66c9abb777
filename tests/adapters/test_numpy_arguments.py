"""Java is given Python's values, and NumPy's, without PySpark's tools for tests."""

from __future__ import annotations

import subprocess
import sys

import pytest

_BEGINS = """
import sys
from incremental_assets.adapters.spark.session import SparkSettings, Work, open_session
session = open_session(SparkSettings(work=Work.TICK))
java = session.sparkContext._jvm.java
"""
_ENDS = """
session.stop()
"""


def played(lines: str) -> list[str]:
    program = _BEGINS + lines + _ENDS
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_a_session_begins_and_ends_without_pandas_and_without_the_tools_for_tests() -> None:
    lines = """
print(java.lang.Integer.toString(7), java.util.ArrayList([1, 2]).size())
print([name for name in ("pandas", "pyspark.testing", "unittest") if name in sys.modules])
"""
    assert played(lines) == ["7 2", "[]"]


@pytest.mark.acceptance
def test_numbers_and_rows_of_numpy_are_converted_as_before() -> None:
    lines = """
import numpy as np
print(java.lang.Integer.toString(np.int64(7)), java.util.Arrays.toString(np.array([1, 2])))
print(java.util.Arrays.toString(np.array([0.5])))
"""
    assert played(lines) == ["7 [1, 2]", "[0.5]"]
