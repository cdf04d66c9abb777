"""How often `sync --follow` tells Dagster what it lands: what Dagster stores of a run costs several times what a small sync does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Grid
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import Status, SyncReport
from incremental_assets.core.preview.pending import Pending, partition_keys

EVERY = 10.0
"""Seconds from one run of a source to the next."""

GridOf = Callable[[TableId], Grid | None]


@dataclass
class _Source:
    """A source that is followed: when its last run ended, on which partition each table was in it, and what has landed since."""

    told: float | None = None
    keys: dict[TableId, str | None] = field(default_factory=dict)
    untold: dict[TableId, tuple[Pending, SyncReport]] = field(default_factory=dict)


@dataclass
class Pace:
    """Of all sources that are followed. `clock`: in seconds."""

    clock: Callable[[], float]
    _sources: dict[str, _Source] = field(default_factory=dict)

    def waits(self, source: str, moving: Sequence[Pending], grid_of: GridOf) -> bool:
        """Whether these tables are synced without a run: the last one was a short while ago, and each has moved again in the one partition that it had there."""
        known = self._of(source)
        if known.told is None or self.clock() - known.told >= EVERY:
            return False
        return all((key := _key(each, grid_of)) and key == known.keys.get(each.spec.id) for each in moving)

    def landed(self, source: str, moving: Iterable[Pending], reports: Iterable[SyncReport]) -> None:
        """What was synced so. After one that is not good, the next sync is a run, whose log says more."""
        known, found = self._of(source), {each.spec.id: each for each in moving}
        for report in reports:
            if report.status is Status.LANDED:
                before = known.untold.get(report.table)
                known.untold[report.table] = (found[report.table], report.since(before[1]) if before else report)
            elif report.status is not Status.IDLE:
                known.told = None

    def owed(self, source: str, moving: Sequence[Pending]) -> list[Pending]:
        """Tables that have landed and do not move now, once Dagster is to hear of them."""
        known = self._of(source)
        if known.told is not None and not moving and self.clock() - known.told < EVERY:
            return []
        there = {each.spec.id for each in moving}
        return [pending for table, (pending, _) in known.untold.items() if table not in there]

    def untold(self, source: str) -> dict[TableId, SyncReport]:
        """What has landed since the last run."""
        return {table: report for table, (_, report) in self._of(source).untold.items()}

    def told(self, source: str, moving: Iterable[Pending], grid_of: GridOf) -> None:
        """A run has told Dagster of these tables, and of all that had landed before."""
        known = self._of(source)
        known.told = self.clock()
        known.untold.clear()
        known.keys |= {each.spec.id: _key(each, grid_of) for each in moving}

    def _of(self, source: str) -> _Source:
        return self._sources.setdefault(source, _Source())


def _key(found: Pending, grid_of: GridOf) -> str | None:
    """The partition in which a table has moved; None where there are several, or Dagster has to be asked for them."""
    grid = grid_of(found.spec.id)
    keys = () if isinstance(grid, IntegerGrid) else partition_keys(grid, found, datetime.now(UTC))
    return keys[0] if len(keys) == 1 else None
