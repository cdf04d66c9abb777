"""Tables begin side by side: Spark is imported by whoever opens the session, one thread at a time, and by nobody before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.delta.stage import ParquetStage
from contextlib import nullcontext
from types import SimpleNamespace

probe = SimpleNamespace(snapshot=lambda plan: nullcontext())
plan = SimpleNamespace(spec=SimpleNamespace(id=None, columns=()))

def session():
    sys.exit(f"asked first: {{'pyspark' not in sys.modules}}")

{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "DeltaLake('/nowhere', session).fence(None, None, None)",
        "ParquetStage('/nowhere', session).write(None, None)",
        "SparkSource(probe, Address('postgresql', '', 0, '', '', ''), session).snapshot(plan).__enter__()",
    ],
)
def test_the_session_is_asked_for_before_spark_is_imported(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == "asked first: True"
