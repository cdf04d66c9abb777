"""incremental-assets in one process that stays: a sync of every table of a configuration, as often as it is asked for.

usage: ours_session.py   with the path of a sources.yaml on each line of the standard input
"""

import json
import os
import sys
import time
import uuid
from pathlib import Path

from incremental_assets.core.config.load import load
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import SyncReport
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.resources.runtime import Runtime
from incremental_assets.resources.spark import SparkResource


class Kept(SparkResource):
    """A runtime that is closed takes its session along; this one is there for the next."""

    def close(self) -> None:
        """Not yet."""


spark = Kept(master=f"local[{os.cpu_count()}]")
for line in sys.stdin:
    begun = time.perf_counter()
    runtime, request = Runtime(load(Path(line.strip())), spark), Request(str(uuid.uuid4()), Mode.SYNC)
    reports: list[SyncReport] = []
    for source in runtime.configuration.sources:
        specs, ports = runtime.specs(source.name).specs, runtime.ports(source.name)
        reports += sync_many(specs, lambda _: request, ports, source.parallel.tables)  # noqa: B023
    runtime.close()
    errors = "; ".join(report.error for report in reports if report.error)
    print(json.dumps({"seconds": time.perf_counter() - begun, "error": errors}), flush=True)
