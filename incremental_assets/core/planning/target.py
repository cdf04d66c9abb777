"""A table of the lake, and one commit of ours in it, as read from its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from incremental_assets.core.model.schema_drift import TargetColumn
from incremental_assets.core.model.state import State
from incremental_assets.core.planning.report import RowCounts


class AsLeft(NamedTuple):
    """A table of the lake right after something was committed to it, or was found there."""

    table_id: str
    version: int
    seq: int | None = None
    """The last sequence committed to it; None where an earlier release has not recorded it."""


NO_TABLE = -1
"""The last version where there is no table."""


@dataclass(frozen=True, slots=True)
class LastCommit:
    """The last version of a table, and whose commit it is; of another writer's only the version is known."""

    version: int
    app_id: str = ""
    seq: int | None = None
    quarantine: int | None = None
    """The last version of the table's quarantine by then."""

    def is_of(self, left: AsLeft, app_id: str) -> bool:
        """Whether this is certainly the commit with which a table was left."""
        is_known = left.seq is None or (self.app_id, self.seq) == (app_id, left.seq)
        return self.version == left.version and is_known


@dataclass(frozen=True, slots=True)
class Target:
    """A table of the lake, as read from its log without Spark."""

    table_id: str
    app_id: str
    version: int
    seq: int
    """The last sequence committed under `app_id`, -1 before the first."""
    state: State | None
    """The state in our newest commit that carries one."""
    foreign: str = ""
    """The first commit after the version asked about that changed rows and is not ours; empty if there is none."""
    landed: bool = True
    """Whether a batch of ours ever landed: before that it holds no rows, or those of an unfinished first load."""
    columns: tuple[TargetColumn, ...] = ()
    """Its columns, those that syncs add included."""
    lacks: str = ""
    """A file of it that is gone or cut, or what lies beside it and is gone or older than its newest commit says, as the first words of a sentence; empty where nothing is."""
    whole_rows_only: bool = False
    """Whether no batch of some columns alone can be committed to it."""

    @property
    def as_left(self) -> AsLeft:
        """What the checkpoint table keeps of it."""
        return AsLeft(self.table_id, self.version, self.seq)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of ours, found in the log. `state` is what it carries."""

    table_id: str
    version: int
    rows: RowCounts
    state: State | None = None
    warnings: tuple[str, ...] = ()
    rolled_back_to: int | None = None
    """The sequence whose rows are there again, for a rollback."""
    by_spark: str = field(default="", compare=False)
    """Why Spark's own writer made it, or read its rows; empty where tasks did. The log does not keep it."""
