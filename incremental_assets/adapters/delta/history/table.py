"""The table of versions: made before the first of them, and given the columns that the copy has been given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta.history.following import HISTORY
from incremental_assets.adapters.delta.log import vectors
from incremental_assets.adapters.delta.log.column_mapping import STATISTICS
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.target_table import add_columns, create, prepare, statistics, widen
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.errors import SchemaChanged, TargetChanged
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_AT, COMMIT_LSN, version_columns
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.history import IS_CURRENT, VALID_FROM, VALID_TO
from incremental_assets.core.model.schema_drift import TargetColumn, difference, is_added, sql_type
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TYPES = {
    VALID_FROM: "timestamp",
    VALID_TO: "timestamp",
    IS_CURRENT: "boolean",
    COMMIT_LSN: "bigint",
    CHANGE_NUMBER: "bigint",
    COMMIT_AT: "timestamp",
}


@dataclass(frozen=True, slots=True)
class Tables:
    """A copy and, at `path`, the table of its versions. `changes`: where the source's log has what the copy's last batch did, a file of every version in it."""

    spec: TableSpec
    copy: TableLog
    copy_path: str
    path: str
    changes: str | None = None

    @property
    def columns(self) -> tuple[TargetColumn, ...]:
        """Those of the copy's rows, without those that a sync adds."""
        return tuple(found for found in self.copy.columns() if not is_added(found.name))

    @property
    def read_to(self) -> int:
        """Where in the source's log the copy is."""
        states = (each.note.state for each in self.copy.ours() if each.note and each.note.state)
        position = next((state.position for state in states), None)
        return (position.lsn or 0) if isinstance(position, LogPosition) else 0


def made(session: SparkSession, tables: Tables) -> TableLog:
    """The log of the versions, with every column of the copy. A run that dies right after leaves an empty table, with which the next one goes on."""
    spec, path, columns = tables.spec, tables.path, tuple(_columns(tables))
    log = open_log(path)
    if log is None:
        kept = statistics(spec, ((each.name, each.spark_type) for each in columns))
        create(session, path, columns, {HISTORY: spec.history, STATISTICS: kept, **vectors.ON})
        log = open_log(path)
    if log is None:
        raise TargetChanged(
            f"{spec.id}: no Delta table could be made at {path}: if other files are there, move them away"
        )
    return _evolved(session, tables, log, columns)


def _columns(tables: Tables) -> Iterator[Column]:
    spec = tables.spec
    told = {each.name.lower(): each.comment for each in spec.columns}
    for each in tables.columns:
        yield Column(each.name, each.type, sql_type(each.type), Fidelity.EXACT, comment=told.get(each.name.lower(), ""))
    for name in version_columns(spec.history, spec.capture):
        yield Column(name, "", _TYPES.get(name, "boolean"), Fidelity.EXACT)


def _evolved(session: SparkSession, tables: Tables, log: TableLog, columns: tuple[Column, ...]) -> TableLog:
    spec, path = tables.spec, tables.path
    found = difference(columns, log.columns())
    stuck = [each for each in found.retyped if not each.is_wider]
    if stuck:
        changed = ", ".join(f"{each.name} was {each.was} and is {each.now}" for each in stuck)
        raise SchemaChanged(
            f"{spec.id}: columns of the copy have another type than their versions ({changed}); move the history at {path} away, "
            "so that a new one begins with the copy as it is"
        )
    added = [each for each in found.added if not is_added(each.name)]
    if any(each.name in spec.key for each in added):
        raise TargetChanged(
            f"{spec.id}: the history at {path} tells versions apart by how their keys are written, as an earlier release did, and the copy by what "
            "the source takes for equal; move the history away, so that a new one begins with the copy as it is"
        )
    if found.retyped:
        widen(session, path, found.retyped)
    if added:
        prepare(session, path, log, columns)
        add_columns(session, path, [(each.name, each.spark_type) for each in added])
    return (open_log(path) or log) if found.retyped or added else log
