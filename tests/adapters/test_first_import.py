"""Tables begin side by side: Spark is imported by whoever opens the session, one thread at a time, and by nobody before."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.spark.tasks import Tasks
from types import SimpleNamespace

def session():
    sys.exit(f"asked first: {{'pyspark' not in sys.modules}}")

{call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "DeltaLake('/nowhere', session).fence(None, None, None)",
        "Tasks(session).run('math', SimpleNamespace(size=0))",
    ],
)
def test_the_session_is_asked_for_before_spark_is_imported(call: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(call=call)], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == "asked first: True"


@pytest.mark.parametrize(
    "module",
    [
        "incremental_assets.adapters.databases.postgresql.copy_part",
        "incremental_assets.adapters.delta.staging_task",
        "incremental_assets.adapters.delta.direct.landing_unit",
        "incremental_assets.adapters.delta.direct.load_task",
    ],
)
def test_a_task_waits_for_no_library_that_only_the_driver_uses(module: str) -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys, {module}; print(sorted({{'sqlalchemy', 'pydantic', 'dagster', 'deltalake', 'grpc'}} & set(sys.modules)))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "[]"
