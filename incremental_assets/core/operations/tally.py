"""What all syncs of the ledger add up to: counts per table, and how long they took per source."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import RowCounts, Status

SECONDS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
"""Upper ends of the buckets. They are labels of stored series: other ones would begin them anew."""
RESULTS = (Status.LANDED, Status.FAILED, Status.REFUSED)
"""Idle syncs are thinned out of the ledger, so that their number says nothing."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A sync that landed, failed or was refused."""

    table: TableId
    status: Status
    mode: Mode
    rows: RowCounts = field(default_factory=RowCounts)
    seconds: float | None = None
    stages: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Histogram:
    """How many took how long."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    """Per bucket, not cumulated; the last has no end."""
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """One more."""
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds


@dataclass(slots=True)
class Counts:
    """Of one table."""

    syncs: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(RESULTS, 0))
    read: int = 0
    written: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("inserted", "updated", "deleted"), 0))
    late: int = 0
    quarantined: int = 0
    read_again: int = 0
    """Those of `read` that a backfill, repair or replay has read."""


@dataclass(slots=True)
class Tally:
    """Grows by each sync that ended."""

    tables: dict[TableId, Counts] = field(default_factory=dict)
    durations: dict[str, Histogram] = field(default_factory=dict)
    """Of syncs that landed, per source."""
    stages: dict[tuple[str, str], Histogram] = field(default_factory=dict)
    """The same of each of their stages."""

    def add(self, ended: Ended) -> None:
        """One more sync."""
        counts, rows = self.tables.setdefault(ended.table, Counts()), ended.rows
        counts.syncs[ended.status] += 1
        if ended.status is not Status.LANDED:
            return
        counts.read += rows.read
        counts.written["inserted"] += rows.inserted
        counts.written["updated"] += rows.updated
        counts.written["deleted"] += rows.deleted
        counts.late += rows.late
        counts.quarantined += rows.quarantined
        counts.read_again += rows.read if ended.mode.reads_again else 0
        source = ended.table.source
        if ended.seconds is not None:
            self.durations.setdefault(source, Histogram()).add(ended.seconds)
        for stage, seconds in ended.stages.items():
            self.stages.setdefault((source, stage), Histogram()).add(seconds)
