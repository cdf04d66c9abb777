"""Files that a table's log names and that are gone or cut: of a copy before it is written, of what lies beside it once something could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState, file_path
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.log.vector_file import file_of
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.lake_store.store import LakeStore
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import IncrementalAssetsError, TargetChanged
from incremental_assets.core.model.cures import full_refresh_of
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table_id import TableId

_FRAME = 8
"""The bytes around a deletion vector in its file: its length and its checksum."""


def damaged_file(table: TableId, lake: str) -> IncrementalAssetsError | None:
    """The error that names the first such file of a copy, of its history or of its quarantine, and the cure; None where all files are as the log says."""
    tables = (
        ("copy", table_path(lake, table), f"read everything again with {full_refresh_of(table)}"),
        ("history", table_path(lake, table.history), "move the history away: a new one begins with the copy as it is"),
        ("quarantine", quarantine_path(lake, table), "move the quarantine away, and read the table again with `incremental-assets sync --full-refresh`"),
    )  # fmt: skip
    for what, path, cure in tables:
        found = _first(path)
        if found is not None:
            return TargetChanged(
                f"{table}: a file of the {what} is {found}, and its rows with it; restore it from a backup, or {cure}"
            )
    return None


def lost_file(lake: str, table: TableId) -> str:
    """The first such file of a copy alone, as the first words of a sentence; empty where there is none. One look at the file system for each file, which takes microseconds on a disk; in a store it would be a request, so it is not done."""
    store = store_of(lake)
    found = None if store is None or store.promises.paged else _first(table_path(lake, table))
    return f"a file of the copy is {found}, and its rows with it" if found else ""


def _first(path: str) -> str | None:
    try:
        seen = log_cache.latest(path)
        return None if seen is None else next(_damages(path, seen.state), None)
    except (NotByTasks, IncrementalAssetsError):
        # Of what is not known here, nothing is said.
        return None


def _damages(path: str, state: LogState) -> Iterator[str]:
    store = store_for(path)
    for add in state.files.values():
        yield from _damage(store, file_path(path, add["path"]), int(add["size"]), exact=True)
        vector: Mapping[str, Any] | None = add.get("deletionVector")
        name = file_of(vector)
        if vector is not None and name is not None:
            least = int(vector.get("offset") or 0) + int(vector["sizeInBytes"]) + _FRAME
            yield from _damage(store, f"{path}/{name}", least, exact=False)


def _damage(store: LakeStore, file: str, size: int, *, exact: bool) -> Iterator[str]:
    try:
        found = store.size(file)
    except TargetChanged as why:
        yield f"not to be read ({why})"
    else:
        if found is None:
            yield f"gone ({file})"
        elif found < size or (exact and found != size):
            yield f"cut ({file} has {found} bytes of {size})"
