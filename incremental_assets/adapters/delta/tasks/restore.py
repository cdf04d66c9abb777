"""An earlier version of a table as a commit of our own: files that came since go, files that went come again; nothing is written but the log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import column_mapping, log_cache, vectors
from incremental_assets.adapters.delta.log.log_state import LogState, file_path
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.log.vector_file import file_of
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.files.marked_file import has_same_rows, removed
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.table import TableSpec

_KEPT = ("path", "size", "modificationTime", "tags", "stats", "deletionVector")

Action = Mapping[str, Any]


class VersionGone(Exception):
    """A version can no longer be restored; the message is half a sentence that says why."""


def restore(spec: TableSpec, path: str, version: int, note: CommitMetadata) -> None:
    """Commits the files, columns and settings of a version again. Raises NotByTasks where only Spark can, VersionGone where one of its files was removed, CommitMissing where a later sequence has landed, Overtaken where another writer was first."""
    store = store_for(path)
    seen = log_cache.latest(path)
    if seen is None:
        raise NotByTasks("there is no table")
    now, then = seen.state, log_cache.past(path, version)
    if why := eligible.refused_by_table(now):
        raise NotByTasks(why)
    gone = [key for key in _files(path, then) if store.head(key) is None]
    if gone:
        raise VersionGone(f"{len(gone)} of its files have been removed (VACUUM)")
    actions = [*_protocol(now, then), *_metadata(now, then), *_differing(now, then, time.time_ns() // 1_000_000)]
    info = {
        "operation": "RESTORE",
        "operationParameters": {"version": version},
        "operationMetrics": {
            "numRemovedFiles": str(sum("remove" in each for each in actions)),
            "numRestoredFiles": str(sum("add" in each for each in actions)),
        },
        "isBlindAppend": False,
    }
    NextVersion(path, now, note, info, actions, ()).commit(spec)


def _differing(now: LogState, then: LogState, at: int) -> Iterator[Action]:
    """A file whose deletion vector differs is removed with the one of now, and added with the one of then."""
    for name, add in now.files.items():
        if not has_same_rows(add, then.files.get(name)):
            yield {"remove": removed(add, at)}
    for name, add in then.files.items():
        if not has_same_rows(add, now.files.get(name)):
            kept = {key: add[key] for key in _KEPT if add.get(key) is not None}
            yield {"add": {**kept, "partitionValues": {}, "dataChange": True}}


def _protocol(now: LogState, then: LogState) -> Iterator[Action]:
    """Features that the files of then ask of a reader, and that were given up since."""
    if vectors.asked_for(then) and not vectors.asked_for(now):
        yield {"protocol": then.protocol}


def _metadata(now: LogState, then: LogState) -> Iterator[Action]:
    """Columns and settings of then; numbers of columns are never given twice."""
    if {**now.metadata, "createdTime": None} == {**then.metadata, "createdTime": None}:
        return
    settings = dict(then.properties)
    numbers = [
        int(each.properties[column_mapping.MOST_ID])
        for each in (now, then)
        if column_mapping.MOST_ID in each.properties
    ]
    if numbers:
        settings[column_mapping.MOST_ID] = str(max(numbers))
    yield {"metaData": {**then.metadata, "configuration": settings}}


def _files(path: str, state: LogState) -> Iterator[str]:
    for add in state.files.values():
        yield file_path(path, add["path"])
        vector = file_of(add.get("deletionVector"))
        if vector is not None:
            yield f"{path}/{vector}"
