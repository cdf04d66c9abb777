"""A sync in a process of its own that kills itself at a named point: `python -m tests.conformance.process CONFIG POINT TABLE RUNNING`.

What dies is the whole sync: Python, its JVM, its connections to the source.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from functools import partial
from pathlib import Path

from incremental_assets import load
from incremental_assets.core.many import sync_many
from incremental_assets.core.plan import Request
from resources.runtime import Runtime
from tests.conformance.mart import MODES, takes_part, window
from tests.conformance.points import Point, at_points, once

_LOG = logging.getLogger("killed")


def main(config: str, point: str, table: str, running: str) -> int:
    """Exit status 1: the point was never passed."""
    runtime = Runtime(load(Path(config)))
    specs = [spec for spec in runtime.specs("shop").specs if takes_part(spec, running)]
    kill = partial(os.killpg, os.getpgid(0), signal.SIGKILL)
    ports = at_points(runtime.ports("shop"), once(Point(point), table, kill))
    request = Request("killed", MODES[running], window(running))
    sync_many(specs, lambda _: request, ports, parallel=len(specs), on_report=_LOG.warning)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
