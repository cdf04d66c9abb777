"""A sync of a topic, or of files, in a process that kills itself at a named point: `python -m tests.conformance.topic_process CONFIG POINT TABLE SOURCE`."""

from __future__ import annotations

import sys
from pathlib import Path

from incremental_assets import load
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.resources.runtime import Runtime
from tests.conformance.points import Point, at_points, once
from tests.conformance.process import kill


def main(config: str, point: str, table: str, source: str) -> int:
    """Exit status 1: the point was never passed."""
    runtime = Runtime(load(Path(config)))
    specs = [spec for spec in runtime.specs(source).specs if spec.id.name == table]
    ports = at_points(runtime.ports(source), once(Point(point), table, kill))
    sync_many(specs, lambda _: Request("killed"), ports, parallel=1)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
