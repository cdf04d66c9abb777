"""What one fresh process does and says as JSON: `python -m bench.thousand_process load|snapshot|tick`. Its parent times the whole."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import psutil


def load() -> dict[str, Any]:
    """What a code location does before it answers: import, build, resolve every job."""
    from incremental_assets.definitions import defs

    repository = defs().get_repository_def()
    repository.load_all_definitions()
    return {"assets": len(repository.assets_defs_by_key), "jobs": len(repository.job_names)}


def snapshot() -> dict[str, Any]:
    """The same, and what the webserver and the daemon then ask for; both times are of this process."""
    from dagster._core.remote_representation.external_data import RepositorySnap
    from dagster._serdes import serialize_value

    from incremental_assets.definitions import defs

    repository = defs().get_repository_def()
    repository.load_all_definitions()
    begun = time.perf_counter()
    snapped = RepositorySnap.from_def(repository)
    return {"snapshot": time.perf_counter() - begun, "bytes": len(serialize_value(snapped).encode())}


def tick() -> dict[str, Any]:
    """Two ticks in one process, as a code location evaluates them: the first connects and tells everything, the second is every other one."""
    from dagster import DagsterInstance, build_sensor_context

    from incremental_assets.definitions import defs

    repository = defs().get_repository_def()
    (sensor,) = repository.sensor_defs
    took, cursor, reason = [], None, ""
    with DagsterInstance.ephemeral() as instance:
        for _ in range(3):
            resources = repository.get_top_level_resources()
            with build_sensor_context(
                instance, cursor=cursor, repository_def=repository, resources=resources
            ) as context:
                begun, before = time.perf_counter(), time.process_time()
                result = sensor.evaluate_tick(context)
                took.append((time.perf_counter() - begun, time.process_time() - before))
            if result.run_requests:
                sys.exit(f"the tables were to be idle: {result}")
            cursor, reason = result.cursor, str(result.skip_message)
    if any(child.name() == "java" for child in psutil.Process().children(recursive=True)):
        sys.exit("a tick has started a JVM")
    return {"first": took[0], "later": took[-1], "cursor_bytes": len((cursor or "").encode()), "told": reason}


if __name__ == "__main__":
    json.dump({"load": load, "snapshot": snapshot, "tick": tick}[sys.argv[1]](), sys.stdout)
