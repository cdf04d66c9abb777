"""Give a column of a table another name: one commit without a row, by us where the table allows it, else by Spark's ALTER TABLE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Named:
    """What is committed to the table at a path. `transaction`: see `commit.Write`."""

    path: str
    rename: Rename
    note: CommitMetadata
    transaction: tuple[str, int] | None = None


def rename(session: Callable[[], SparkSession], spec: TableSpec, of: Named) -> None:
    """Files keep the column under the name of before, and a reader finds it there. Raises Overtaken where another writer was first."""
    try:
        _directly(spec, of)
    except NotDirect:
        _by_spark(session(), of)


def _directly(spec: TableSpec, of: Named) -> None:
    seen = log_cache.latest(of.path) if is_local(of.path) else None
    if seen is None:
        raise NotDirect("its lake is in a store")
    if why := refused_by_table(seen.state):
        raise NotDirect(why)
    actions = column_mapping.renaming(seen.state.metadata, seen.state.protocol, of.rename)
    info = {
        "operation": "RENAME COLUMN",
        "operationParameters": {"oldColumnPath": of.rename.before, "newColumnPath": of.rename.after},
        "operationMetrics": {},
        "isBlindAppend": False,
    }
    NextVersion(of.path, seen.state, of.note, info, actions, (), of.transaction).commit(spec)


def _by_spark(session: SparkSession, of: Named) -> None:
    """That columns are mapped is a commit of its own, which changes nothing that a reader sees; so is a transaction, which ALTER TABLE has none of."""
    from incremental_assets.adapters.delta.commit import Write, conflicts_explained, empty, write
    from incremental_assets.adapters.delta.target_table import prepare
    from incremental_assets.adapters.spark.expressions import quoted
    from incremental_assets.adapters.spark.session import second_session

    to, log = Write(of.path, of.note, transaction=of.transaction), open_log(of.path)
    names = {found.name.lower(): found.name for found in log.columns()} if log else {}
    before, after = names.get(of.rename.before.lower()), of.rename.after
    if log is not None and before is not None and after.lower() not in names:
        prepare(session, of.path, log, (), {column_mapping.MODE: "name"})
        # The settings of a session are those of all its threads.
        with second_session(session) as own, conflicts_explained(to):
            for name, value in of.note.as_setting().items():
                own.conf.set(name, value)
            own.sql(f"ALTER TABLE delta.{quoted(of.path)} RENAME COLUMN {quoted(before)} TO {quoted(after)}").collect()
        if of.transaction is None:
            return
    write(empty(session), to)
