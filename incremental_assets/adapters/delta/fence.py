"""An empty batch as one commit: whoever comes with a lower sequence after it is too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.tasks.eligible import refused_by_table
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INFO = {
    "operation": "WRITE",
    "operationParameters": {"mode": "Append"},
    "operationMetrics": {"numFiles": "0", "numOutputRows": "0", "numOutputBytes": "0"},
    "isBlindAppend": True,
}


def fence(session: SparkSession, spec: TableSpec, path: str, version: int, note: CommitMetadata) -> None:
    """After a version of the table. Raises CommitMissing where a later sequence has landed, Overtaken where another writer was first."""
    plane.commit(
        path,
        f"{spec.id}: later runs are kept out",
        lambda: _directly(spec, path, version, note),
        lambda: _by_spark(session, path, note),
    )


def _directly(spec: TableSpec, path: str, version: int, note: CommitMetadata) -> None:
    state = log_cache.at(path, version)
    if why := refused_by_table(state):
        raise NotByTasks(why)
    NextVersion(path, state, note, _INFO, (), ()).commit(spec)


def _by_spark(session: SparkSession, path: str, note: CommitMetadata) -> None:
    from incremental_assets.adapters.delta.commit import Write, empty, write

    write(empty(session), Write(path, note))
