"""One Delta table in memory: a log of commits, `txn` per app id, and a version that is not above the last skipped without a word."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from incremental_assets.core.model.state import State
from incremental_assets.core.planning.plan import CommitIds
from incremental_assets.core.planning.report import RowCounts
from tests.fakes.rows import Row

_table_ids = itertools.count(1)


@dataclass(frozen=True)
class LogEntry:
    """One commit: the table right after it, and its userMetadata when it is ours. `counts` is None where no batch landed."""

    rows: tuple[Row, ...]
    operation: str
    ours: bool
    commit_ids: CommitIds | None = None
    state: State | None = None
    counts: RowCounts | None = None
    changes_rows: bool = True
    rolled_back_to: int | None = None
    overwrites: bool = False
    is_load: bool = False
    """Whether it holds a first load's rows, which have no position yet."""


@dataclass
class DeltaTable:
    """A table: its properties, its log (the index is the version) and the highest `txn` of each app id, which nothing rewinds."""

    app_id: str
    table_id: str = field(default_factory=lambda: f"table-{next(_table_ids)}")
    log: list[LogEntry] = field(default_factory=list)
    transactions: dict[str, int] = field(default_factory=dict)
    cleaned: bool = False
    """Whether the log's first commits are gone."""
    gathered: int = 0
    """The version after the last commit that put its files together."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the latest version."""
        return self.log[-1].rows if self.log else ()

    @property
    def version(self) -> int:
        """The latest version."""
        return len(self.log) - 1

    @property
    def landed(self) -> bool:
        """Whether a batch ever landed."""
        return any(entry.ours and entry.counts is not None and not entry.is_load for entry in self.log)

    def commit(self, entry: LogEntry) -> bool:
        """Append to the log; False when Delta skips it as a replay."""
        if entry.commit_ids is not None:
            app_id, seq = entry.commit_ids.app_id, entry.commit_ids.seq
            if seq <= self.transactions.get(app_id, -1):
                return False
            self.transactions[app_id] = seq
        self.log.append(entry)
        return True
