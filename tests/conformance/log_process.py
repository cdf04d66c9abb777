"""A sync of tables that are read from the log, in a process that kills itself at a named step: `python -m tests.conformance.log_process CONFIG STEP TABLE MODE`.

A step of the read of the log is struck for whatever table passes it first, a point of the landing for `TABLE`.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from incremental_assets import load
from incremental_assets.core.model.history import SUFFIX
from incremental_assets.core.observing.observers import Observers
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.resources.runtime import Runtime
from tests.adapters.logs.moments import at_moments
from tests.conformance.points import Beside, at_points, once
from tests.conformance.process import Told, kill, place_of, when_written

STEPS = ("spool", "decode", "write", "finish", "advance", "end")
"""Of the read of PostgreSQL's log, in their order: each is about to begin."""
BINLOG_STEPS = ("read", "decode", "write", "finish", "end")
"""Of that of a binlog."""


def main(config: str, step: str, table: str, mode: str) -> int:
    """Exit status 1: the step was never passed."""

    def strike(name: str) -> None:
        if name == step:
            kill()

    runtime = Runtime(load(Path(config)))
    runtime.observer = Observers(Told())
    with at_moments(strike):
        specs = [spec for spec in runtime.specs("shop").specs if spec.id.name == table]
        ports = runtime.ports("shop")
        if step not in (*STEPS, *BINLOG_STEPS):
            place, fault = place_of(step), kill
            if place is Beside.WRITTEN:
                history = Path(runtime.configuration.lake, "shop", "public", f"{table}{SUFFIX}")
                place, fault = Beside.BEGUN, partial(when_written, history, {*history.glob("*.parquet")})
            ports = at_points(ports, once(place, table, fault))
        sync_many(specs, lambda _: Request("killed", Mode(mode)), ports, parallel=1)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
