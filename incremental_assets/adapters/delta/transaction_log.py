"""A Delta table's log, read without Spark: 2 to 10 ms for a local table."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incremental_assets.adapters.delta.commit_metadata import BEFORE_LANDING, CommitMetadata, read_commit_metadata
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.compaction import Layout
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.schema_drift import Reached, TargetColumn
from incremental_assets.core.syncing.foreign_changes import NO_TABLE

if TYPE_CHECKING:
    from deltalake import DeltaTable

APP_ID = "incremental_assets.app_id"
"""Table property under which a table of ours keeps the app id of its commits."""
SINCE = "incremental_assets.since"
SINCE_CURSOR = "incremental_assets.since_cursor"
"""Column metadata of a column that came later; see `TargetColumn`."""

HARMLESS = frozenset(
    {
        "ADD COLUMNS", "ADD CONSTRAINT", "ADD FEATURE", "CHANGE COLUMN", "CHANGE COLUMNS", "CLUSTER BY", "COMPUTE STATS", "CREATE TABLE",
        "Deletion Vector Tombstones", "DOMAIN METADATA CLEANUP", "DROP CONSTRAINT", "DROP FEATURE", "Empty Commit", "OPTIMIZE",
        "OPTIMIZE CHECKPOINT", "REMOVE COLUMN MAPPING", "REORG", "REORG TABLE UPGRADE UNIFORM", "ROW TRACKING BACKFILL",
        "ROW TRACKING UNBACKFILL", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "UPDATE COLUMN METADATA", "UPGRADE PROTOCOL",
        "VACUUM END", "VACUUM START",
    }
)  # fmt: skip
"""Operations that leave every row as it is. Any other, known or not, may have changed some."""

_IN_PLACE = frozenset({"changeDataFeed", "clustering", "rowTracking"})
"""Features of tables that suffer where rows that stay are written again: a feed tells of them, an order is given up, they get other numbers."""

_STEPS = (20, 500, None)
"""How far back to look for a commit of ours: it is nearly always among the first, and each costs one small file."""


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit as the log tells it. `note` is set where it is ours."""

    version: int
    operation: str
    metrics: Mapping[str, int]
    engine: str
    note: CommitMetadata | None

    @property
    def changed_rows(self) -> bool:
        """Whether rows may be other ones after it."""
        return self.operation not in HARMLESS


class TableLog:
    """The log as it was when it was opened."""

    def __init__(self, table: DeltaTable) -> None:
        metadata = table.metadata()
        self._table = table
        self._told: dict[int | None, tuple[Committed, ...]] = {}
        """Histories that were read already, by how far back they go."""
        self.table_id = str(metadata.id)
        self.properties: Mapping[str, str] = dict(metadata.configuration)
        self.version = table.version()

    @property
    def app_id(self) -> str:
        """Empty where the table is not of our making."""
        return self.properties.get(APP_ID, "")

    def last_sequence(self, app_id: str) -> int:
        """The last sequence committed under an app id, -1 before the first."""
        found = self._table.transaction_version(app_id)
        return -1 if found is None else int(found)

    def landed(self) -> bool:
        """Whether a batch of ours ever landed. Where log cleaning has removed the first commits, one has."""
        if self.last_sequence(self.app_id) < 0:
            return False
        if any(commit.note is not None and commit.note.kind not in BEFORE_LANDING for commit in self.ours()):
            return True
        oldest = self._history(None)[-1:]
        return any(commit.version > 0 for commit in oldest)

    def rows(self) -> int:
        """Rows of the table: those of its files less those that deletion vectors mark, which `DeltaTable.count` does not subtract."""
        from deltalake import QueryBuilder

        found = QueryBuilder().register("t", self._table).execute("SELECT count(*) FROM t").read_all()
        return int(found.column(0)[0].as_py())

    def rows_in_files(self) -> int | None:
        """Including rows that deletion vectors mark; None if a file of another writer has no statistics."""
        rows = self._table.get_add_actions(flatten=True).column("num_records").to_pylist()
        return None if None in rows else sum(rows)

    @property
    def keeps_rows_in_place(self) -> bool:
        """Whether table features, set by another writer, forbid rewriting unchanged rows."""
        protocol = self._table.protocol()
        return bool(_IN_PLACE & set(protocol.writer_features or ()) or self._table.metadata().partition_columns)

    def layout(self) -> Layout:
        """Sizes of its files and rows in them, those that deletion vectors mark included; and the rows without those."""
        sizes = tuple(self._table.get_add_actions(flatten=True).column("size_bytes").to_pylist())
        rows = self.rows_in_files()
        # Where nothing is known of the rows, nothing is of dead ones.
        return Layout(sizes, 0, 0) if rows is None else Layout(sizes, rows, self.rows())

    def columns(self) -> tuple[TargetColumn, ...]:
        """Columns in the table's order, types in Delta's words."""
        fields = json.loads(self._table.schema().to_json())["fields"]
        return tuple(
            TargetColumn(
                field["name"],
                _type_text(field["type"]),
                field["metadata"].get(SINCE),
                _reached(field["metadata"].get(SINCE_CURSOR)),
            )
            for field in fields
        )

    def commits(self, after: int) -> tuple[Committed, ...]:
        """Commits after version `after`, newest first; those that log cleaning has removed are missing."""
        wanted = self.version - after
        return tuple(commit for commit in self._history(wanted) if commit.version > after) if wanted > 0 else ()

    def ours(self) -> Iterator[Committed]:
        """Commits of ours, newest first, read as far back as the caller asks."""
        seen = 0
        for limit in _STEPS:
            commits = self._history(limit)
            yield from (
                commit for commit in commits[seen:] if commit.note is not None and commit.note.app_id == self.app_id
            )
            seen = len(commits)
            if limit is not None and seen < limit:
                return

    def foreign(self, after: int) -> Committed | None:
        """The first commit after a version that is not ours and may have changed rows."""
        found = [
            commit
            for commit in self.commits(after)
            if commit.changed_rows and (commit.note is None or commit.note.app_id != self.app_id)
        ]
        return found[-1] if found else None

    def _history(self, limit: int | None) -> tuple[Committed, ...]:
        # A look asks for the newest of ours, for their state, for what came after them: each would read the same files again.
        if limit not in self._told:
            self._told[limit] = tuple(_committed(entry) for entry in self._table.history(limit))
        return self._told[limit]


def last_version(path: str) -> int | None:
    """The last version of a local table, by the names in its log alone: -1 where there is no table; None for one in a store."""
    if not is_local(path):
        return None
    try:
        names = os.listdir(os.path.join(path, "_delta_log"))  # noqa: PTH118, PTH208 - names are all that is asked
    except FileNotFoundError:
        return NO_TABLE
    except OSError as error:
        raise TargetChanged(
            f"{path}: the log of this Delta table cannot be listed ({error.strerror}); let this user read it"
        ) from error
    return max((int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit()), default=NO_TABLE)


def open_log(path: str) -> TableLog | None:
    """The log of the table at a path or address; None if there is no table.

    The stores' credentials are read from the environment by delta-rs itself, as its documentation names them (AWS_*, AZURE_*, GOOGLE_*).
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    if is_local(path) and not os.path.isdir(os.path.join(path, "_delta_log")):  # noqa: PTH112, PTH118 - spares an import
        return None
    try:
        return TableLog(DeltaTable(_address(path)))
    except TableNotFoundError:
        return None
    except DeltaError as error:
        first = next(iter(str(error).splitlines()), "")
        raise TargetChanged(
            f"{path}: there is a Delta table here whose log cannot be read ({first}); if it is damaged, restore it or move it away"
        ) from error


def _address(path: str) -> str:
    """Hadoop and delta-rs name one store differently."""
    return "s3://" + path.removeprefix("s3a://") if path.startswith("s3a://") else path


def _committed(entry: Mapping[str, Any]) -> Committed:
    metrics = {
        name: int(value) for name, value in (entry.get("operationMetrics") or {}).items() if str(value).isdigit()
    }
    return Committed(
        version=int(entry["version"]),
        operation=str(entry.get("operation", "")),
        metrics=metrics,
        engine=str(entry.get("engineInfo") or entry.get("clientVersion") or "an unknown engine"),
        note=read_commit_metadata(entry.get("userMetadata")),
    )


def _reached(text: str | None) -> Reached | None:
    """From `column:type=value`."""
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
