"""Give columns of a table other names: one commit of ours without a row.

Where a table allows none of ours, it is refused: Spark's ALTER TABLE takes no transaction identifier, so that a run which slept past its lease could still
carry it out after another run has had the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import column_mapping, log_cache
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.plane import leave_to_spark
from incremental_assets.adapters.delta.tasks.eligible import refused_by_table
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import SchemaChanged
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Named:
    """What is committed to the table at a path, and what a person may do where that is not allowed. `transaction`: see `commit.Write`."""

    path: str
    renames: tuple[Rename, ...]
    note: CommitMetadata
    cure: str
    may_map: bool = True
    """Whether its readers know column mapping, by which the name is given."""
    transaction: tuple[str, int] | None = None


def check_renamable(spec: TableSpec, of: Named) -> None:
    """Raises SchemaChanged where `rename` would, and commits nothing."""
    try:
        _seen(of)
    except NotByTasks as why:
        _check_done(spec, of, why)


def rename(session: Callable[[], SparkSession], spec: TableSpec, of: Named) -> None:
    """Files keep a column under its name of before, and a reader finds it there. Raises Overtaken, and SchemaChanged where the table allows no commit of ours."""
    try:
        _directly(spec, of)
    except NotByTasks as why:
        _check_done(spec, of, why)
        leave_to_spark(of.path, why)
        _said_by_spark(session(), of)


def _check_done(spec: TableSpec, of: Named, why: NotByTasks) -> None:
    if not _is_done(of):
        listed = " and ".join(f"{each.before!r} {each.after!r}" for each in of.renames)
        told = (
            "the source now calls" if any(each.by != "column_names" for each in of.renames) else "`column_names` calls"
        )
        raise SchemaChanged(
            f"{spec.id}: {told} the column {listed}, and the table at {of.path} cannot be given that name, as {why}: {of.cure}"
        ) from why


def _directly(spec: TableSpec, of: Named) -> None:
    seen = _seen(of)
    actions = column_mapping.renaming(seen.state.metadata, seen.state.protocol, of.renames)
    info = {
        "operation": "RENAME COLUMN",
        "operationParameters": {
            "oldColumnPath": ", ".join(each.before for each in of.renames),
            "newColumnPath": ", ".join(each.after for each in of.renames),
        },
        "operationMetrics": {},
        "isBlindAppend": False,
    }
    NextVersion(of.path, seen.state, of.note, info, actions, (), of.transaction).commit(spec)


def _seen(of: Named) -> log_cache.Seen:
    seen = log_cache.latest(of.path)
    if seen is None:
        raise NotByTasks("there is no table")
    if why := refused_by_table(seen.state):
        raise NotByTasks(why)
    if not of.may_map and seen.state.properties.get(column_mapping.MODE, "none") == "none":
        raise NotByTasks("it is to be read by any reader, and a new name asks for column mapping")
    return seen


def _is_done(of: Named) -> bool:
    log = open_log(of.path)
    names = {found.name.lower() for found in log.columns()} if log else set()
    before, after = ({getattr(each, at).lower() for each in of.renames} for at in ("before", "after"))
    return after <= names and not before & names


def by_hand(path: str, renames: tuple[Rename, ...]) -> str:
    """What a person may do to a table of which no sync minds other writers."""
    from incremental_assets.adapters.spark.expressions import quoted

    if {each.before.lower() for each in renames} & {each.after.lower() for each in renames}:
        return "move that table away, and the next sync begins a new one"
    table = f"ALTER TABLE delta.{quoted(path)}"
    statements = [
        f"SET TBLPROPERTIES ('{column_mapping.MODE}' = 'name')",
        *(f"RENAME COLUMN {quoted(each.before)} TO {quoted(each.after)}" for each in renames),
    ]
    return f"while no sync runs, have Spark do {'; '.join(f'{table} {each}' for each in statements)}, and sync again"


def _said_by_spark(session: SparkSession, of: Named) -> None:
    """That a table has the name, in a commit that Delta takes once."""
    from incremental_assets.adapters.delta.commit import Write, empty, write

    write(empty(session), Write(of.path, of.note, transaction=of.transaction))
