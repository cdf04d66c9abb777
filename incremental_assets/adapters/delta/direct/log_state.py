"""A local Delta table's live files, replayed from its log with their deletion vectors, which delta-rs does not show."""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Action = Mapping[str, Any]

LOG = "_delta_log"
_READ = ("protocol", "metaData", "add", "txn")
"""What of a checkpoint makes the state; the others are only kept for readers of older versions."""


@dataclass(slots=True)
class LogState:
    """The table at one version. `files`: the `add` action of each live file, by its path as the log writes it."""

    version: int
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
            if "remove" in action:
                self.files.pop(action["remove"]["path"], None)
            elif "add" in action:
                added[action["add"]["path"]] = action["add"]
            elif "txn" in action:
                self.sequences[action["txn"]["appId"]] = action["txn"]["version"]
            elif "metaData" in action:
                self.metadata = action["metaData"]
            elif "protocol" in action:
                self.protocol = action["protocol"]
        self.files |= added


class NotReplayable(Exception):
    """The log is one that only Delta itself should read: its words say why."""


def replay(path: str, version: int) -> LogState:
    """The table at a version that is there. Raises NotReplayable where the log before it is not whole, or of a kind that is not known here."""
    log = os.path.join(path, LOG)
    state = _checkpointed(log, version)
    for number in range(state.version + 1, version + 1):
        try:
            with open(commit_path(path, number), encoding="utf-8") as file:
                state.apply(json.loads(line) for line in file if line.strip())
        except FileNotFoundError:
            raise NotReplayable(f"version {number} is not in the log") from None
        state.version = number
    return state


def commit_path(path: str, version: int) -> str:
    """Where a version of a table is committed."""
    return os.path.join(path, LOG, f"{version:020d}.json")


def file_path(path: str, written: str) -> str:
    """Where a file lies whose path is written so in the log. Raises NotReplayable where that is not below the table."""
    decoded = urllib.parse.unquote(written)
    if os.path.isabs(decoded) or "://" in decoded:
        raise NotReplayable("a file lies outside of the table")
    return os.path.join(path, decoded)


def _checkpointed(log: str, version: int) -> LogState:
    """From the last checkpoint at or below a version; nothing where there is none."""
    try:
        with open(os.path.join(log, "_last_checkpoint"), encoding="utf-8") as file:
            last = json.load(file)
    except FileNotFoundError:
        return LogState(version=-1)
    number = last["version"]
    if last.get("parts") or last.get("v2Checkpoint"):
        raise NotReplayable("its checkpoint is in several files")
    if number > version:
        raise NotReplayable(f"its checkpoint is of version {number}")
    state = LogState(version=number)
    try:
        state.apply(_actions(os.path.join(log, f"{number:020d}.checkpoint.parquet")))
    except FileNotFoundError:
        raise NotReplayable(f"its checkpoint of version {number} is not in the log") from None
    return state


def _actions(checkpoint: str) -> Iterator[Action]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(checkpoint) as file:
        there = [name for name in _READ if name in file.schema_arrow.names]
        for batch in file.iter_batches(columns=there):
            for row in batch.to_pylist():
                yield from ({name: _plain(value)} for name, value in row.items() if value is not None)


def _plain(value: Any) -> Any:
    """As JSON would have it: a map arrives as pairs, and what is absent as None."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        if value and all(isinstance(each, tuple) for each in value):
            return {name: _plain(each) for name, each in value}
        return [_plain(each) for each in value]
    return value
