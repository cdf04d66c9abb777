"""Give a column of a table another name: one commit without a row, by us where the table allows it, else by Spark's ALTER TABLE."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.direct.eligible import refused_by_table
from incremental_assets.adapters.delta.direct.next_version import NextVersion
from incremental_assets.adapters.delta.log import column_mapping, log_cache
from incremental_assets.adapters.delta.log.not_direct import NotDirect
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.core.model.paths import is_local
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rename(
    session: Callable[[], SparkSession], spec: TableSpec, path: str, renamed: Rename, note: CommitMetadata
) -> None:
    """Files keep the column under the name of before, and a reader finds it there. Raises Overtaken where another writer was first."""
    try:
        _directly(spec, path, renamed, note)
    except NotDirect:
        _by_spark(session(), path, renamed, note)


def _directly(spec: TableSpec, path: str, renamed: Rename, note: CommitMetadata) -> None:
    seen = log_cache.latest(path) if is_local(path) else None
    if seen is None:
        raise NotDirect("its lake is in a store")
    if why := refused_by_table(seen.state):
        raise NotDirect(why)
    actions = column_mapping.renaming(seen.state.metadata, seen.state.protocol, renamed)
    info = {
        "operation": "RENAME COLUMN",
        "operationParameters": {"oldColumnPath": renamed.before, "newColumnPath": renamed.after},
        "operationMetrics": {},
        "isBlindAppend": False,
    }
    NextVersion(path, seen.state, note, info, actions, ()).commit(spec)


def _by_spark(session: SparkSession, path: str, renamed: Rename, note: CommitMetadata) -> None:
    """That columns are mapped is a commit of its own, which changes nothing that a reader sees."""
    from incremental_assets.adapters.delta.commit import Write, conflicts_explained, empty, write
    from incremental_assets.adapters.delta.target_table import prepare
    from incremental_assets.adapters.spark.expressions import quoted
    from incremental_assets.adapters.spark.session import second_session

    log = open_log(path)
    names = {found.name.lower(): found.name for found in log.columns()} if log else {}
    if log is None or renamed.before.lower() not in names or renamed.after.lower() in names:
        write(empty(session), Write(path, note))
        return
    prepare(session, path, log, (), {column_mapping.MODE: "name"})
    before, after = quoted(names[renamed.before.lower()]), quoted(renamed.after)
    # The settings of a session are those of all its threads.
    with second_session(session) as own, conflicts_explained(Write(path, note)):
        for name, value in note.as_setting().items():
            own.conf.set(name, value)
        own.sql(f"ALTER TABLE delta.{quoted(path)} RENAME COLUMN {before} TO {after}").collect()
