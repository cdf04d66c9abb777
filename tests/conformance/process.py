"""A sync in a process of its own that kills itself at a named point: `python -m tests.conformance.process CONFIG POINT TABLE RUNNING`.

`RUNNING` is `maintenance` for one that has synced and now cares for the table's files, `repair` for one that mends drift,
`fill` for one that reads the values of new columns, and `rollback` for one that takes the copy back.

What dies is the whole sync: Python, its JVM, its connections to the source.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from incremental_assets import load
from incremental_assets.adapters.delta.quarantine import kept_rows, settling
from incremental_assets.core.captures.database import fill_ranges
from incremental_assets.core.captures.database import loading as ranges
from incremental_assets.core.checks.repair import repair_table
from incremental_assets.core.landing import first_load
from incremental_assets.core.maintenance.compact import compact_all
from incremental_assets.core.maintenance.rollback import roll_back
from incremental_assets.core.model import compaction as maintenance
from incremental_assets.core.model.history import SUFFIX
from incremental_assets.core.observing.observers import Observer, Observers
from incremental_assets.core.observing.occurrences import Occurrence, SyncEnded
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.syncing import filling
from incremental_assets.core.syncing.sync_many import sync_many
from incremental_assets.resources.runtime import Runtime
from tests.conformance import planes
from tests.conformance.mart import FILL, MAINTENANCE, MODES, REPAIR, ROLLBACK, takes_part, window
from tests.conformance.points import Beside, Held, Place, Point, Upkeep, at_passing, at_points, once

UNSTAGED = "first load, however small, without a stage"
RANGED = "first load, however small, range by range"
RANGE_BYTES = 400_000
"""Of the source in a range of such a load."""

_LOG = logging.getLogger("killed")


def main(config: str, point: str, table: str, running: str) -> int:
    """Exit status 1: the point was never passed."""
    if running == UNSTAGED:
        first_load.WORTH_IT, running = 0, "first load"
    if is_ranged := running == RANGED:
        ranges.WORTH_IT = 1
        ranges.RANGE_BYTES, running = RANGE_BYTES, "first load"
    if planes.is_by_spark():
        planes.play_by_spark()
    runtime = Runtime(load(Path(config)))
    if running == MAINTENANCE:
        return _maintain(runtime, Upkeep(point), table)
    if running == REPAIR:
        return _repair(runtime, Point(point), table)
    if running == ROLLBACK:
        return _roll_back(runtime, Point(point), table)
    if running == FILL:
        return _fill(runtime, Point(point), table)
    runtime.observer = Observers(Told())
    specs = [spec for spec in runtime.specs("shop").specs if takes_part(spec, running)]
    if point in {*Held}:
        _kill_inside(Held(point))
    place, fault = place_of(point), kill
    if place is Beside.WRITTEN:
        history = Path(runtime.configuration.lake, "shop", "public", f"{table}{SUFFIX}")
        place, fault = Beside.BEGUN, partial(when_written, history, {*history.glob("*.parquet")})
    # The first range is written straight to the target, and the second one is staged.
    ports = at_points(runtime.ports("shop"), at_passing(3 if is_ranged else 1, place, table, fault))
    request = Request("killed", MODES[running], window(running))
    sync_many(specs, lambda _: request, ports, parallel=len(specs))
    return 1


class Told(Observer):
    """In the log of the process."""

    def notify(self, occurrence: Occurrence) -> None:
        if isinstance(occurrence, SyncEnded):
            _LOG.warning(occurrence.report)


def place_of(named: str) -> Place:
    """The place of that name."""
    kinds: tuple[type[Beside | Held | Point], ...] = (Beside, Held, Point)
    return next(kind(named) for kind in kinds if named in {*kind})


def _kill_inside(point: Held) -> None:
    """Of the only table whose contract holds anything."""
    module, name = (kept_rows, "keep") if point is Held.KEPT else (settling, "settle")
    play = getattr(module, name)

    def dies(*arguments: Any) -> None:
        if point is not Held.LANDED:
            play(*arguments)
        kill()

    setattr(module, name, dies)


def kill() -> None:
    """This process and all that it has started."""
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _repair(runtime: Runtime, point: Point, table: str) -> int:
    (spec,) = (spec for spec in runtime.specs("shop").specs if spec.id.name == table)
    repair_table(spec, None, "killed", at_points(runtime.ports("shop"), once(point, table, kill)))
    return 1


def _fill(runtime: Runtime, point: Point, table: str) -> int:
    (spec,) = (spec for spec in runtime.specs("shop").specs if spec.id.name == table)
    # Else sixty rows would be one range.
    fill_ranges.MOST_ROWS = filling.MOST_ROWS = 20
    # The sync itself comes first, then a range.
    ports = at_points(runtime.ports("shop"), at_passing(3, point, table, kill))
    filling.sync_and_fill(spec, Request("killed"), ports)
    return 1


def _roll_back(runtime: Runtime, point: Point, table: str) -> int:
    (spec,) = (spec for spec in runtime.specs("shop").specs if spec.id.name == table)
    to_run = (runtime.configuration.path.parent / "to_run").read_text()
    roll_back(spec, to_run, "killed", at_points(runtime.ports("shop"), once(point, table, kill)))
    return 1


def _maintain(runtime: Runtime, point: Upkeep, table: str) -> int:
    (spec,) = (spec for spec in runtime.specs("shop").specs if spec.id.name == table)
    folder = Path(runtime.configuration.lake, spec.id.source, spec.id.schema, table)
    fault = kill if point is Upkeep.DONE else partial(when_written, folder, {*folder.glob("*.parquet")})
    ports = at_points(runtime.ports("shop"), once(point, table, fault))
    # Else it would take as many syncs as a table moves in a morning before this pays.
    maintenance.START, maintenance.PER_BYTE = 0.001, 0.0
    for done in compact_all([spec], "killed", ports, seconds=0):
        _LOG.warning("%s", done)
    return 1


def when_written(folder: Path, there: set[Path]) -> None:
    """Kill as soon as another file lies in the folder: Delta commits it only after it was written."""

    def watch() -> None:
        while {*folder.glob("*.parquet")} <= there:
            time.sleep(0.001)
        kill()

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
