"""A Delta table's log, read without Spark: 2 to 10 ms for a local table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, takewhile
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import BEFORE_LANDING, CommitMetadata, read_commit_metadata
from incremental_assets.adapters.delta.log import log_cache, vectors
from incremental_assets.adapters.delta.log.column_mapping import SINCE_CURSOR
from incremental_assets.adapters.delta.log.logged_table import DeltaRsTable, Info, LoggedTable, ReplayedTable
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.compaction import Layout
from incremental_assets.core.model.schema_drift import Reached, TargetColumn

APP_ID = "incremental_assets.app_id"
"""Table property under which a table of ours keeps the app id of its commits."""
SINCE = "incremental_assets.since"
"""Column metadata of a column that came later, beside `SINCE_CURSOR`; see `TargetColumn`."""

FORGETS = "delta.setTransactionRetentionDuration"
"""Delta's property after whose time the next checkpoint leaves out the last sequence of each writer."""

HARMLESS = frozenset(
    {
        "ADD COLUMN", "ADD COLUMNS", "ADD CONSTRAINT", "ADD FEATURE", "CHANGE COLUMN", "CHANGE COLUMNS", "CLUSTER BY", "COMPUTE STATS", "CREATE TABLE",
        "Deletion Vector Tombstones", "DOMAIN METADATA CLEANUP", "DROP CONSTRAINT", "DROP FEATURE", "Empty Commit", "OPTIMIZE",
        "OPTIMIZE CHECKPOINT", "REMOVE COLUMN MAPPING", "REORG", "REORG TABLE UPGRADE UNIFORM", "ROW TRACKING BACKFILL",
        "ROW TRACKING UNBACKFILL", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "UPDATE COLUMN METADATA", "UPDATE FIELD METADATA",
        "UPDATE TABLE METADATA", "UPGRADE PROTOCOL",
        "VACUUM END", "VACUUM START",
    }
)  # fmt: skip
"""Operations that leave every row as it is. Any other, known or not, may have changed some."""

_ELSEWHERE = frozenset(
    {"catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview", "managedCommit-preview"}
)
_EPOCH = datetime.fromtimestamp(0, UTC)
_IN_PLACE = frozenset({"changeDataFeed", "clustering", "rowTracking"})
"""Features of tables that suffer where rows that stay are written again: a feed tells of them, an order is given up, they get other numbers."""


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit as the log tells it. `note` is set where it is ours."""

    version: int
    operation: str
    metrics: Mapping[str, int]
    engine: str
    note: CommitMetadata | None
    at: datetime = _EPOCH
    """The time by the clock of the machine that wrote it."""

    @property
    def changed_rows(self) -> bool:
        """Whether rows may be other ones after it."""
        return self.operation not in HARMLESS


class TableLog:
    """The log as it was when it was opened."""

    def __init__(self, table: LoggedTable) -> None:
        self._table = table
        self._commits: Iterator[Info] = table.commits()
        self._told: list[Committed] = []
        """What was read of the history so far, newest first."""
        self.table_id = table.table_id
        self.properties = table.properties
        self.version = table.version
        self.fields = table.fields
        self.comment = table.comment

    @property
    def app_id(self) -> str:
        """Empty where the table is not of our making."""
        return self.properties.get(APP_ID, "")

    def last_sequence(self, app_id: str) -> int:
        """The last sequence committed under an app id, -1 before the first."""
        found = self._table.last_sequence(app_id)
        return -1 if found is None else int(found)

    @property
    def sequence(self) -> int:
        """The last sequence of ours, -1 before the first: of a table that has forgotten it, the one that its newest commit of ours tells."""
        newest = next(self.ours(), None)
        return max(self.last_sequence(self.app_id), newest.note.seq if newest and newest.note else -1)

    def landed(self) -> bool:
        """Whether a batch of ours ever landed. Where log cleaning has removed the first commits, one has; and where there are rows that no sequence tells of."""
        if any(commit.note is not None and commit.note.kind not in BEFORE_LANDING for commit in self.ours()):
            return True
        if self._told and self._told[-1].version > 0:
            return True
        return self.last_sequence(self.app_id) < 0 and bool(self._table.sizes())

    def lost(self, after: int) -> int | None:
        """The last version after `after` that log cleaning has removed: nobody can tell any more what it did; None where all are there."""
        found = {commit.version for commit in self.commits(after)}
        return next((version for version in range(self.version, after, -1) if version not in found), None)

    def check_remembers(self, path: str) -> None:
        """Raises TargetChanged for a table whose properties make it forget the sequences of its syncs, or whose newest commits may be elsewhere than in its log."""
        if elsewhere := sorted(_ELSEWHERE & self._table.writer_features):
            raise TargetChanged(
                f"{path}: the table has {', '.join(elsewhere)}, by which a catalogue keeps its newest commits and its log may lack them, so nothing was "
                "written; drop that feature, or move the table away"
            )
        if FORGETS in self.properties:
            raise TargetChanged(
                f"{path}: somebody has set the table's property `{FORGETS}` ({self.properties[FORGETS]}), by which it forgets which syncs have landed, so "
                f"nothing was written; remove it with ``ALTER TABLE delta.`{path}` UNSET TBLPROPERTIES ('{FORGETS}')``, and sync again"
            )

    def rows(self) -> int:
        """Rows of the table: those of its files less those that deletion vectors mark."""
        return self._table.rows()

    def rows_in_files(self) -> int | None:
        """Including rows that deletion vectors mark; None if a file of another writer has no statistics."""
        return self._table.rows_in_files()

    @property
    def keeps_rows_in_place(self) -> bool:
        """Whether table features, set by another writer, forbid rewriting unchanged rows."""
        return bool(_IN_PLACE & self._table.writer_features or self._table.partition_columns)

    @property
    def asks_for_vectors(self) -> bool:
        """Whether a reader has to know deletion vectors, though no file may have one."""
        return vectors.FEATURE in self._table.writer_features

    def layout(self) -> Layout:
        """Sizes of its files and rows in them, those that deletion vectors mark included; and the rows without those."""
        sizes = tuple(self._table.sizes())
        rows = self.rows_in_files()
        # Where nothing is known of the rows, nothing is of dead ones.
        return Layout(sizes, 0, 0) if rows is None else Layout(sizes, rows, self.rows())

    def columns(self) -> tuple[TargetColumn, ...]:
        """Columns in the table's order, types in Delta's words."""
        return tuple(
            TargetColumn(
                field["name"],
                _type_text(field["type"]),
                field["metadata"].get(SINCE),
                _reached(field["metadata"].get(SINCE_CURSOR)),
            )
            for field in self._table.fields
        )

    def commits(self, after: int) -> tuple[Committed, ...]:
        """Commits after version `after`, newest first; those that log cleaning has removed are missing."""
        return tuple(takewhile(lambda commit: commit.version > after, self._history()))

    def ours(self) -> Iterator[Committed]:
        """Commits of ours, newest first, read as far back as the caller asks."""
        return (commit for commit in self._history() if commit.note is not None and commit.note.app_id == self.app_id)

    def foreign(self, after: int) -> Committed | None:
        """The first commit after a version that is not ours and may have changed rows."""
        found = [
            commit
            for commit in self.commits(after)
            if (commit.note is None or commit.note.app_id != self.app_id)
            and (commit.changed_rows or self._table.loses_rows(commit.version))
        ]
        return found[-1] if found else None

    def changed_by_others(self, after: int) -> Committed | None:
        """The same of a table beside a copy, whose commits of ours all say so."""
        found = (each for each in self.commits(after) if each.note is None)
        return next((each for each in found if each.changed_rows or self._table.loses_rows(each.version)), None)

    @property
    def own_version(self) -> int:
        """The newest commit of ours of a table beside a copy, -1 where the log has none."""
        return next((each.version for each in self._history() if each.note is not None), -1)

    def changed_behind_us(self) -> Committed | None:
        """What another writer did behind it, unless the files are again as it left them: somebody has put that right."""
        ours = self.own_version
        found = self.changed_by_others(ours)
        return None if found and self._table.has_files_of(ours) else found

    def _history(self) -> Iterator[Committed]:
        # A look asks for the newest of ours, for their state, for what came after them: each would read the same files again.
        for place in count():
            if place == len(self._told):
                read = next(self._commits, None)
                if read is None:
                    return
                self._told.append(_committed(*read))
            yield self._told[place]


def open_log(path: str) -> TableLog | None:
    """The log of the table at a path or address; None if there is no table."""
    with suppress(NotByTasks):
        seen = log_cache.latest(path)
        return None if seen is None else TableLog(ReplayedTable(path, seen))
    return _by_delta_rs(path)


def _by_delta_rs(path: str) -> TableLog | None:
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        return TableLog(DeltaRsTable.opened(path))
    except TableNotFoundError:
        return None
    except DeltaError as error:
        first = next(iter(str(error).splitlines()), "")
        raise TargetChanged(
            f"{path}: there is a Delta table here whose log cannot be read ({first}); if it is damaged, restore it or move it away"
        ) from error


def _committed(version: int, entry: Mapping[str, Any]) -> Committed:
    metrics = {
        name: int(value) for name, value in (entry.get("operationMetrics") or {}).items() if str(value).isdigit()
    }
    return Committed(
        version=version,
        operation=str(entry.get("operation", "")),
        metrics=metrics,
        engine=str(entry.get("engineInfo") or entry.get("clientVersion") or "an unknown engine"),
        note=read_commit_metadata(entry.get("userMetadata")),
        at=datetime.fromtimestamp(int(entry.get("timestamp") or 0) / 1000, UTC),
    )


def _reached(text: str | None) -> Reached | None:
    """Cursor and value of a text `column:type=value`; None of any other text."""
    cursor, separator, value = (text or "").rpartition("=")
    return Reached(cursor, value) if separator else None


def _type_text(kind: Any) -> str:
    """A type of a Delta schema as SQL writes it, in Delta's own names for the simple ones."""
    if isinstance(kind, str):
        return kind
    if kind["type"] == "array":
        return f"array<{_type_text(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_type_text(kind['keyType'])},{_type_text(kind['valueType'])}>"
    return f"struct<{','.join(field['name'] + ':' + _type_text(field['type']) for field in kind['fields'])}>"
