"""pyarrow works without pandas until somebody converts to it."""

from __future__ import annotations

import subprocess
import sys

_BEGINS = """
import sys
from incremental_assets.adapters.spark.pandas_later import pandas_later
pandas_later()
import pyarrow as pa, pyarrow.compute as pc
def there(): return "pandas" in sys.modules
"""


def played(lines: str) -> str:
    done = subprocess.run([sys.executable, "-c", _BEGINS + lines], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_lists_and_numbers_bring_no_pandas_in() -> None:
    assert played("pc.equal(pa.array([1, 2]), 1); pc.if_else(pa.scalar(True), 'a', 'b'); print(there())") == "False"


def test_whoever_converts_to_pandas_gets_it_and_pyarrow_knows_its_values_from_then_on() -> None:
    lines = """
frame = pa.table({"a": [1.0, None]}).to_pandas()
print(type(frame).__name__, there(), pa.array(frame["a"]).null_count)
"""
    assert played(lines) == "DataFrame True 1"


def test_pandas_can_be_imported_as_before() -> None:
    assert played("import pandas; print(pandas.Series([1]).sum())") == "1"


def test_the_daemon_of_the_workers_imports_what_a_task_needs_and_no_pandas() -> None:
    lines = """
from incremental_assets.adapters.spark.worker_daemon import MODULES, preload
preload()
print(sorted(set(MODULES) - set(sys.modules)), there())
"""
    assert played(lines) == "[] False"
