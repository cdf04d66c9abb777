"""What a fork shares with the server that made it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

from incremental_assets.cli.preloaded import MODULES, TRACES

OPENED = """
import importlib, sys
from incremental_assets.adapters.telemetry.opening import open_tracing
from incremental_assets.cli.preloaded import TRACES

for name in TRACES:
    importlib.import_module(name)
before = {*sys.modules}
open_tracing(None)
print(sorted(name for name in {*sys.modules} - before if name.startswith(("opentelemetry", "incremental_assets"))))
"""


def test_each_module_of_ours_that_is_imported_beforehand_is_there() -> None:
    """One that has moved would be left out without a word, and each command import it for itself."""
    ours = [name for name in (*MODULES, *TRACES) if name.startswith(("incremental_assets.", "resources."))]
    assert len(ours) > 10
    assert [name for name in ours if find_spec(name) is None] == []


def test_a_fork_that_sends_traces_imports_nothing_more_for_them() -> None:
    """Of ours and of OpenTelemetry: what its exporter needs besides, Dagster has imported."""
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    told = subprocess.run(
        [sys.executable, "-c", OPENED], env=os.environ | endpoint, capture_output=True, text=True, check=True
    )
    assert told.stdout == "[]\n"
