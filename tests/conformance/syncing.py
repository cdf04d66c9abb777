"""A process that syncs without a pause until it is killed: `python -m tests.conformance.syncing CONFIG`."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

from incremental_assets import load
from incremental_assets.core.observing.observers import Observer, Observers
from incremental_assets.core.observing.occurrences import Occurrence, SyncEnded
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.resources.runtime import Runtime
from tests.conformance import planes


def main(config: str) -> None:
    """Until the end of its process."""
    if planes.is_by_spark():
        planes.play_by_spark()
    runtime = Runtime(load(Path(config)))
    runtime.observer = Observers(Errors())
    ports = runtime.ports("shop")
    while True:
        # As every sync does: the source's catalogue may have changed.
        specs = runtime.specs("shop").specs
        request = Request(str(uuid.uuid4()))
        sync_many(specs, lambda _, request=request: request, ports, parallel=len(specs))


class Errors(Observer):
    """On stderr."""

    def notify(self, occurrence: Occurrence) -> None:
        if isinstance(occurrence, SyncEnded) and occurrence.report.error:
            sys.stderr.write(f"{occurrence.report.error}\n")


if __name__ == "__main__":
    main(sys.argv[1])
