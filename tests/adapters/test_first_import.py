"""Tables begin side by side: Spark is imported by whoever opens the session, one thread at a time, and by nobody before."""

from __future__ import annotations

import subprocess
import sys

ASKS = """
import sys
from incremental_assets.adapters.delta.lake import DeltaLake
from incremental_assets.adapters.spark.tasks import Tasks
from types import SimpleNamespace

class Asked(Exception):
    pass

def session():
    print(f"asked first: {'pyspark' not in sys.modules}")
    raise Asked

for call in (
    lambda: DeltaLake("/nowhere", session).fence(None, None, None),
    lambda: Tasks(session).run("math", SimpleNamespace(size=0)),
):
    try:
        call()
    except Asked:
        pass
"""
IMPORTS = """
import importlib, sys
for module in sys.argv[1:]:
    importlib.import_module(module)
    print(module, sorted({"sqlalchemy", "pydantic", "dagster", "deltalake", "grpc"} & set(sys.modules)))
"""
TASKS = [
    "incremental_assets.adapters.databases.postgresql.rows.copy_part",
    "incremental_assets.adapters.delta.staging.staging_task",
    "incremental_assets.adapters.delta.tasks.landing_unit",
    "incremental_assets.adapters.delta.tasks.load_task",
]


def _said(program: str, *arguments: str) -> list[str]:
    """A process of its own, once for all that is asked: what none has imported together, none imports alone."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_session_is_asked_for_before_spark_is_imported() -> None:
    assert _said(ASKS) == ["asked first: True"] * 2


def test_a_task_waits_for_no_library_that_only_the_driver_uses() -> None:
    assert _said(IMPORTS, *TASKS) == [f"{module} []" for module in TASKS]
