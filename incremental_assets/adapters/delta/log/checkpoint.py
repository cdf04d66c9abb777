"""Checkpoints of a log: the state of a table in one Parquet file, as Spark and delta-rs write it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log import delta_rs
from incremental_assets.adapters.delta.log.damage import damaged
from incremental_assets.adapters.delta.log.listing import LAST, Listing, listed, misleads
from incremental_assets.adapters.delta.log.readable import readable, store_for
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import TargetChanged, sentence

if TYPE_CHECKING:
    from deltalake import DeltaTable

Action = Mapping[str, Any]

LOG = "_delta_log"
NO_CHECKPOINT = -1
_PARQUET = b"PAR1"
"""How a file of Parquet begins, and ends."""
_SMALLEST = 12
_READ = ("protocol", "metaData", "add", "txn")
"""What makes the state; the others are only kept for readers of older versions."""
_OF_ANOTHER_KIND = ("checkpointMetadata", "sidecar")
"""Actions of a checkpoint that is in several files, of which this is the first."""
_INTERVAL = "delta.checkpointInterval"
_EVERY = 10
"""Delta's own."""
_CLEANS = "delta.enableExpiredLogCleanup"

_log = logging.getLogger(__name__)


def checkpointed(listing: Listing, version: int) -> tuple[int, Iterable[Action]]:
    """The newest checkpoint that is not above a version, and its actions; nothing where there is none. Raises NotByTasks, and TargetChanged for one that is damaged.

    It is found among the names: the file that names the last one is only a hint for readers of stores.
    """
    number = listing.checkpoint(version)
    if number < 0:
        return NO_CHECKPOINT, ()
    name, *more = listing.checkpoints[number]
    if more or name != f"{number:020d}.checkpoint.parquet":
        raise NotByTasks("its checkpoint is in several files")
    return number, _actions(listing, number, name)


def checkpoint_if_due(path: str, version: int, last: int, properties: Mapping[str, str]) -> None:
    """Every so many versions, so that a reader has few to replay. The commit is there already, whatever becomes of this."""
    named = properties.get(_INTERVAL, "")
    every = int(named) if named.isdigit() and int(named) else _EVERY
    store, is_due = store_for(path), version - max(last, 0) >= every
    if is_due or not store.promises.paged:
        # Each commit looks where that costs no request: until then nobody else can read the table.
        _take_back_hint(path)
    if not is_due:
        return
    try:
        table = delta_rs.opened(path, version)
        table.create_checkpoint()
        for name in (f"{version:020d}.checkpoint.parquet", LAST):
            store.adopt(f"{path}/{LOG}/{name}")
    except Exception:  # noqa: BLE001 - the next one will do
        _log.warning("%s: no checkpoint of version %s could be written", path, version, exc_info=True)
        return
    if properties.get(_CLEANS, "true").lower() == "true":
        _clean(path, table)


def _clean(path: str, table: DeltaTable) -> None:
    try:
        table.cleanup_metadata()
    except Exception as error:  # noqa: BLE001 - a log that is too long is read as well
        _log.warning("%s: what its log no longer needs could not be removed (%s)", path, sentence(error))


def _take_back_hint(path: str) -> None:
    """Remove the hint at a checkpoint that somebody has removed; a log without one is as good."""
    try:
        names = listed(path)
        if misleads(names):
            names.store.delete(f"{names.log}/{LAST}")
    except Exception:  # noqa: BLE001 - the commit is there already, and the next one will do
        _log.warning("%s: whether %s names a checkpoint that is there is not known", path, LAST, exc_info=True)


def _actions(listing: Listing, number: int, name: str) -> Iterator[Action]:
    if not listing.store.promises.whole:
        check_whole(listing, number, name)
    with readable(f"the checkpoint {name}"):
        yield from _read(listing.store.for_arrow(f"{listing.log}/{name}"))


def check_whole(listing: Listing, number: int, name: str) -> None:
    """Raises TargetChanged for a checkpoint that does not begin and end as a Parquet file does. Raises FileNotFoundError."""
    if not name.endswith(".parquet"):
        return
    file = f"{listing.log}/{name}"
    begin, (size, end) = listing.store.read(file, 0, len(_PARQUET)), listing.store.end(file, len(_PARQUET))
    if size >= _SMALLEST and begin == end == _PARQUET:
        return
    raise no_checkpoint(listing, number, f"this checkpoint is cut, or is no Parquet file ({size} bytes)")


def no_checkpoint(listing: Listing, number: int, what: str) -> TargetChanged:
    """The error for a checkpoint that is none of its version."""
    earlier = listing.checkpoint(number - 1)
    is_needed = any(each not in listing.commits for each in range(earlier + 1, number + 1))
    cure = "" if is_needed else "remove it: the log is complete without this checkpoint"
    return damaged(listing.log, listing.checkpoints[number][0], what, cure)


def _read(opened: Any) -> Iterator[Action]:
    with pq.ParquetFile(opened) as file:
        names = set(file.schema_arrow.names)
        wanted = [name for name in (*_READ, *_OF_ANOTHER_KIND) if name in names]
        for batch in file.iter_batches(columns=wanted):
            if any(batch.column(name).null_count < len(batch) for name in wanted if name in _OF_ANOTHER_KIND):
                raise NotByTasks("its checkpoint is in several files")
            for name in batch.schema.names:
                yield from ({name: each} for each in _told(batch.column(name)) if each is not None)


def _told(column: pa.Array) -> Sequence[Any]:
    """The values as JSON would have them, without what is absent.

    Column by column: to make each row's values of all columns, most of which are absent, takes many times as long.
    """
    if column.null_count == len(column):
        return [None] * len(column)
    if pa.types.is_string(column.type) or (pa.types.is_integer(column.type) and column.null_count == 0):
        return list(column.to_numpy(zero_copy_only=False).tolist())
    if not pa.types.is_nested(column.type):
        return list(column.to_pylist())
    if pa.types.is_map(column.type) and len(column.keys) == 0:
        # Those of partitions, in a table that has none.
        return [{} if is_there else None for is_there in column.is_valid().to_pylist()]
    if not pa.types.is_struct(column.type):
        return [_without_absent(each) for each in column.to_pylist(maps_as_pydicts="strict")]
    names = [field.name for field in column.type]
    fields = [_told(column.field(place)) for place in range(len(names))]
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not None} if is_there else None
        for is_there, row in zip(column.is_valid().to_pylist(), zip(*fields, strict=True), strict=True)
    ]


def _without_absent(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_absent(each) for name, each in value.items() if each is not None}
    return [_without_absent(each) for each in value] if isinstance(value, list) else value
