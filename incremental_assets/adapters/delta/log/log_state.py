"""A local Delta table's live files, replayed from its log with their deletion vectors, which delta-rs does not show."""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from incremental_assets.adapters.delta.log.checkpoint import LOG, NO_CHECKPOINT, Action
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks


@dataclass(slots=True)
class LogState:
    """The table at one version. `files`: the `add` action of each live file, by its path as it is on disk."""

    version: int
    checkpoint: int = NO_CHECKPOINT
    """The version of the last checkpoint that is not above it."""
    protocol: Action = field(default_factory=dict)
    metadata: Action = field(default_factory=dict)
    files: dict[str, Action] = field(default_factory=dict)
    sequences: dict[str, int] = field(default_factory=dict)

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's own, as `metaData` tells them."""
        return dict(self.metadata.get("configuration") or {})

    def apply(self, actions: Iterable[Action]) -> None:
        """One commit: of a file that is given another vector, the log removes the old one and adds the new one, in any order."""
        added = {}
        for action in actions:
            if (gone := action.get("remove")) is not None:
                self.files.pop(_decoded(gone["path"]), None)
            elif (come := action.get("add")) is not None:
                added[_decoded(come["path"])] = come
            elif (sequence := action.get("txn")) is not None:
                self.sequences[sequence["appId"]] = sequence["version"]
            elif (metadata := action.get("metaData")) is not None:
                self.metadata = metadata
            elif (protocol := action.get("protocol")) is not None:
                self.protocol = protocol
        self.files |= added


def commit_path(path: str, version: int) -> str:
    """The path at which a version of a table is committed."""
    return f"{path}/{LOG}/{version:020d}.json"


def file_path(path: str, written: str) -> str:
    """The path of a file that is written so in the log. Raises as `file_name`."""
    return f"{path}/{file_name(written)}"


def file_name(written: str) -> str:
    """The same below the table. Raises NotByTasks where it is not there."""
    decoded = _decoded(written)
    if decoded.startswith("/") or ":/" in decoded or ".." in decoded.split("/"):
        raise NotByTasks("a file lies outside of the table")
    return decoded


def _decoded(written: str) -> str:
    """Two writers may encode one path differently."""
    return urllib.parse.unquote(written)
