"""Takes the rows of some keys out of a Delta table so that nothing of them is left in it: one commit of ours, then the files and the log of before go.

Each step finds by itself what is left to do, so that it can be called again after whatever ended it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import delta_rs, log_cache
from incremental_assets.adapters.delta.log.checkpoint import LOG
from incremental_assets.adapters.delta.log.listing import LAST, commit_name
from incremental_assets.adapters.delta.log.log_state import LogState, file_path
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.log.referenced import referenced
from incremental_assets.adapters.delta.tasks import eligible
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.data_file import schema_of, write_rows
from incremental_assets.adapters.delta.tasks.files.marked_file import removed
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.delta.tasks.next_version import NextVersion
from incremental_assets.adapters.erasure import parquet
from incremental_assets.adapters.erasure.in_lake import search_of
from incremental_assets.adapters.erasure.search import Search
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import LakeRefused, Overtaken
from incremental_assets.core.model.subject import Subject

_INFO = {"operation": "DELETE", "operationParameters": {}, "isBlindAppend": False}


@dataclass(frozen=True, slots=True)
class Erasing:
    """A Delta table, and whose rows are to go. `transaction`: see `NextVersion`; `source_names`: see `in_lake.of_table`."""

    path: str
    subjects: tuple[Subject, ...]
    note: CommitMetadata
    transaction: tuple[str, int] | None = None
    source_names: Mapping[str, str] = field(default_factory=dict)

    def search(self, state: LogState) -> Search:
        """What is looked for in its files."""
        return search_of(state.metadata, self.subjects, self.source_names)


def rewrite(work: Erasing) -> int:
    """Commits every file that holds something anew without the rows; the version after it, which has a commit also where no file did. Raises LakeRefused, Overtaken."""
    seen = log_cache.latest(work.path)
    if seen is None:
        raise LakeRefused(f"{work.path}: the table is gone")
    state = seen.state
    try:
        _check_ours(state)
        hits = [add for add in state.files.values() if _holds(work, state, add)]
        adds = list(_written(work, state, hits))
    except NotByTasks as why:
        raise LakeRefused(
            f"{work.path}: only Spark could write this table ({why}), and what Spark leaves of a row nobody could prove to be gone, so that nothing was erased "
            "of it; load it again with `--full-refresh` into a table of this program's own kind, and erase again"
        ) from None
    now = time.time_ns() // 1_000_000
    actions: list[Mapping[str, Any]] = [{"remove": removed(add, now)} for add in hits]
    actions += [{"add": each} for each in adds]
    version = NextVersion(
        work.path, state, work.note, _INFO, actions, [each["path"] for each in adds], work.transaction,
        once=work.transaction is not None,
    )  # fmt: skip
    if not version.put():
        version.discard()
        raise Overtaken(f"{work.path}: another writer changed this table at this moment; erase again")
    return state.version + 1


def remove_files(path: str) -> list[str]:
    """Everything that the last version does not name: files of earlier ones, vectors, what dead writers left."""
    store, seen = store_for(path), log_cache.latest(path)
    if seen is None:
        return []
    named = referenced(path, seen.state.version).names
    gone = [name for name, _ in store.files_in(path) if not name.startswith(f"{LOG}/") and name not in named]
    for name in gone:
        store.delete(f"{path}/{name}")
    return gone


def remove_log(path: str) -> list[str]:
    """The log below the last version, once a checkpoint of that has what it needs. Raises LakeRefused."""
    store, seen = store_for(path), log_cache.latest(path)
    if seen is None:
        return []
    version = seen.state.version
    checkpoint = f"{version:020d}.checkpoint.parquet"
    if store.head(f"{path}/{LOG}/{checkpoint}") is None:
        delta_rs.opened(path, version).create_checkpoint()
        for name in (checkpoint, LAST):
            store.adopt(f"{path}/{LOG}/{name}")
    _check(path, seen.state)
    kept = {commit_name(version), checkpoint, LAST, f".{commit_name(version)}.crc"}
    gone = [name for name, _ in store.files_in(f"{path}/{LOG}") if name not in kept and not _is_later(name, version)]
    # The newest last: whoever dies on the way leaves a log without a hole above its checkpoint.
    for name in sorted(gone):
        store.delete(f"{path}/{LOG}/{name}")
    return gone


def _check_ours(state: LogState) -> None:
    if why := eligible.refused_by_table(state):
        raise NotByTasks(why)


def _check(path: str, state: LogState) -> None:
    """That the checkpoint says what the log says, before the log goes."""
    with_it = log_cache.past(path, state.version)
    same = (with_it.files.keys(), with_it.sequences) == (state.files.keys(), state.sequences)
    if not same or with_it.checkpoint != state.version:
        raise LakeRefused(
            f"{path}: the checkpoint of version {state.version} is not what its log says, so that the log was kept; erase again"
        )


def _is_later(name: str, version: int) -> bool:
    digits = name.lstrip(".")[:20]
    return digits.isdigit() and int(digits) > version


def _holds(work: Erasing, state: LogState, add: Mapping[str, Any]) -> bool:
    data = store_for(work.path).read(file_path(work.path, add["path"]))
    return bool(parquet.held(data, work.search(state)) - parquet.OF_OTHERS)


def _written(work: Erasing, state: LogState, hits: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    columns = Columns.of(state)
    stored, kept = columns.all(), columns.statistics(state.properties)
    told = tuple(each.name for each in stored if each.name in kept)
    search, schema = work.search(state), schema_of(stored)
    for add in hits:
        with row_groups(work.path, add, ()) as groups:
            tables = (
                pa.Table.from_arrays(group.columns(stored), schema=schema).filter(pa.array(group.alive))
                for group in groups
            )
            written = write_rows(
                work.path, told, (_without(rows, search) for rows in tables), time.time_ns() // 1_000_000
            )
        if written is not None:
            yield written


def _without(rows: pa.Table, search: Search) -> pa.Table:
    mine = [each for batch in rows.to_batches() for each in parquet.keyed(batch, search)]
    return rows.filter(pa.array([not each for each in mine], pa.bool_()))
