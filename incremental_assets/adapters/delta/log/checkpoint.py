"""Checkpoints of a log: the state of a table in one Parquet file, as Spark and delta-rs write it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log.not_direct import NotDirect, readable
from incremental_assets.adapters.delta.log.plain_file import check_plain, plain_text
from incremental_assets.adapters.delta.new_file import as_ours

Action = Mapping[str, Any]

LOG = "_delta_log"
NO_CHECKPOINT = -1
_LAST = "_last_checkpoint"
_READ = ("protocol", "metaData", "add", "txn")
"""What makes the state; the others are only kept for readers of older versions."""
_OF_ANOTHER_KIND = ("checkpointMetadata", "sidecar")
"""Actions of a checkpoint that is in several files, of which this is the first."""
_NAME_PARTS = 3
"""The parts of the name of a checkpoint in one file: version, `checkpoint`, `parquet`."""
_INTERVAL = "delta.checkpointInterval"
_EVERY = 10
"""Delta's own."""
_CLEANS = "delta.enableExpiredLogCleanup"

_log = logging.getLogger(__name__)


def checkpointed(log: Path, version: int) -> tuple[int, Iterable[Action]]:
    """The version of the last checkpoint, and its actions; nothing where there is none. Raises NotDirect for one that is above a version."""
    try:
        last = json.loads(plain_text(log / _LAST))
        number, parts = int(last["version"]), last.get("parts") or last.get("v2Checkpoint")
    except FileNotFoundError:
        return NO_CHECKPOINT, ()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotDirect("what its log says of the last checkpoint cannot be read") from None
    if parts:
        raise NotDirect("its checkpoint is in several files")
    if number > version:
        raise NotDirect(f"its checkpoint is of version {number}")
    return number, _actions(log / f"{number:020d}.checkpoint.parquet")


def checkpointed_before(log: Path, version: int) -> tuple[int, Iterable[Action]]:
    """The last checkpoint up to a version, whatever came later; nothing where there is none."""
    names = (path.name.split(".") for path in log.glob("*.checkpoint.parquet"))
    numbers = [int(name[0]) for name in names if len(name) == _NAME_PARTS and name[0].isdigit()]
    number = max((each for each in numbers if each <= version), default=NO_CHECKPOINT)
    return number, _actions(log / f"{number:020d}.checkpoint.parquet") if number >= 0 else ()


def checkpoint_if_due(path: str, version: int, last: int, properties: Mapping[str, str]) -> None:
    """Every so many versions, so that a reader has few to replay. The commit is there already, whatever becomes of this."""
    named = properties.get(_INTERVAL, "")
    every = int(named) if named.isdigit() and int(named) else _EVERY
    if version - max(last, 0) < every:
        return
    from deltalake import DeltaTable

    log = Path(path) / LOG
    try:
        table = DeltaTable(path, version=version)
        table.create_checkpoint()
        as_ours(log / f"{version:020d}.checkpoint.parquet")
        as_ours(log / _LAST)
        if properties.get(_CLEANS, "true").lower() == "true":
            table.cleanup_metadata()
    except Exception:  # noqa: BLE001 - the next one will do
        _log.warning("%s: no checkpoint of version %s could be written", path, version, exc_info=True)


def _actions(path: Path) -> Iterator[Action]:
    with readable(f"the checkpoint {path.name}"):
        check_plain(path)
        yield from _read(path)


def _read(path: Path) -> Iterator[Action]:
    with pq.ParquetFile(path) as file:
        names = set(file.schema_arrow.names)
        wanted = [name for name in (*_READ, *_OF_ANOTHER_KIND) if name in names]
        for batch in file.iter_batches(columns=wanted):
            for row in batch.to_pylist(maps_as_pydicts="strict"):
                found = {name: _told(value) for name, value in row.items() if value is not None}
                if found.keys() & set(_OF_ANOTHER_KIND):
                    raise NotDirect("its checkpoint is in several files")
                if found:
                    yield found


def _told(value: Any) -> Any:
    """The value as JSON would have it, without what is absent."""
    if isinstance(value, dict):
        return {name: _told(each) for name, each in value.items() if each is not None}
    return [_told(each) for each in value] if isinstance(value, list) else value
