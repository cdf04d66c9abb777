"""Rows that come while a run is under way: the run lands them, too, until Dagster's daemon asks the sensor again.

The daemon asks it every five seconds at the most, and a tick ends as soon as it has requested a run. So of a source with a shorter `every` the
run itself looks at what it has synced, at that interval, from its own end to the next tick.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dagster import AssetExecutionContext, RunRequest

from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.ports import Ports
from incremental_assets.core.preview.pending import Pending, look_over, new_keys, partition_keys
from incremental_assets.core.syncing.looking import observe
from incremental_assets.defs.looking import ROUND, SHORTEST, SPARE
from incremental_assets.defs.partitions import Scheme

FOLLOWS_TAG = "incremental_assets/follows_until"
"""Of a sync: until when it looks for more, in seconds since 1970."""
_GOOD = (Status.LANDED, Status.IDLE)

Syncing = Callable[[Sequence[TableSpec]], Generator[SyncReport]]


def asked_to_follow(requests: Sequence[RunRequest], every: timedelta, begun: datetime) -> list[RunRequest]:
    """The runs that a tick requests; of a source with a short interval they follow it until the next tick. `begun`: when this one did."""
    if every >= ROUND:
        return list(requests)
    until = {FOLLOWS_TAG: f"{(begun + ROUND - SPARE).timestamp():.2f}"}
    return [request.with_replaced_attrs(tags={**request.tags, **until}) for request in requests]


@dataclass(frozen=True, slots=True)
class Following:
    """What a run looks at, and how often."""

    context: AssetExecutionContext
    scheme: Scheme
    ports: Ports
    every: timedelta
    quiet: QuietTime | None = None

    def reports(self, specs: Sequence[TableSpec], sync: Syncing) -> Generator[SyncReport]:
        """Those of the sync that was asked for, then one for each table of what has moved since. After one that is not good, the sensor decides what comes next.

        What Dagster stores of a report costs several times what a small sync does, so that it hears of the later ones at the end.
        """
        good, interval = True, max(self.every, SHORTEST).total_seconds()
        for report in sync(specs):
            good = good and report.status in _GOOD
            yield report
        begun, left, later = time.monotonic(), self._seconds(), dict[TableId, SyncReport]()
        while good and time.monotonic() - begun + interval < left:
            time.sleep(interval)
            moved = self._moved(specs)
            if moved is None:
                break
            for report in sync(moved) if moved else ():
                good = good and report.status in _GOOD
                if report.status is Status.LANDED:
                    later[report.table] = report.since(later[report.table]) if report.table in later else report
                else:
                    yield report
        yield from later.values()

    def _seconds(self) -> float:
        """How long the run still follows; another machine's clock may be wrong."""
        try:
            until = float(self.context.run.tags.get(FOLLOWS_TAG, ""))
        except ValueError:
            return 0.0
        return min(until - time.time(), ROUND.total_seconds())

    def _moved(self, specs: Sequence[TableSpec]) -> list[TableSpec] | None:
        """The tables that have moved within the run's last partition. None where the sensor has more to do than to ask for a sync: it has the partitions, and the errors."""
        if self.quiet is not None and self.quiet.until(datetime.now(UTC)) is not None:
            return None
        try:
            positions = self.ports.checkpoints.positions()
            looks = [ObserveRequest(spec, positions.get(spec.id, Checkpoint()).state) for spec in specs]
            moved, stopped, _ = look_over(specs, positions, observe(self.ports.probe, looks, self.ports.observer))
            is_over = bool(stopped) or not all(map(self._is_within, moved))
        except IncrementalAssetsError:
            return None
        return None if is_over else [each.spec for each in moved]

    def _is_within(self, found: Pending) -> bool:
        grid, name = self.scheme.grid, self.scheme.dynamic
        known = self.context.instance.get_dynamic_partitions(name) if name else ()
        keys = partition_keys(grid, found, datetime.now(UTC), known)
        return keys == (self.context.partition_keys[-1],) and not new_keys(grid, found, keys, known)
