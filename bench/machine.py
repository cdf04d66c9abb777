"""On what it was measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from bench.environments import Environments
from bench.source import Source
from incremental_assets.adapters.spark.java import require_java


def machine(source: Source) -> Mapping[str, Any]:
    """Cores, memory, system, and the programs that all share."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "java": _java(),
        "postgresql": str(source.one("SHOW server_version")),
    }


def tools(environments: Environments) -> Mapping[str, str]:
    """What was compared, in which version."""
    return {
        "dlt": environments.version("dlt", "dlt"),
        "deltalake": environments.version("dlt", "deltalake"),
        "connectorx": environments.version("dlt", "connectorx"),
        "Spark": environments.version("spark", "pyspark"),
        "Delta for Spark": environments.version("spark", "delta-spark"),
        "sling": environments.version("sling", "sling-linux-amd64"),
        "DuckDB": environments.version("copy", "duckdb"),
    }


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    named = (
        re.search(r"^model name\s*: (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE) if file.exists() else None
    )
    return named.group(1) if named else platform.machine()


def _java() -> str:
    said = subprocess.run(
        [require_java().home / "bin" / "java", "-version"], capture_output=True, text=True, check=False
    ).stderr
    named = re.search(r'"([^"]+)"', said)
    return named.group(1) if named else "unknown"
