"""What commits of another writer have left of a table: whether as many rows as there were, and as much told of them, as what maintenance calls itself does not show that; and whether the same."""

from __future__ import annotations

import json
from contextlib import suppress

from incremental_assets.adapters.delta.log.commit_text import actions_of
from incremental_assets.adapters.delta.log.log_cache import past
from incremental_assets.adapters.delta.log.log_state import LogState, commit_path
from incremental_assets.adapters.delta.log.narrowed import narrowed
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks


def loses_rows(path: str, version: int) -> bool:
    """Whether the table has another number of rows after this commit than before it, or such statistics that some are not found any more.

    False where nobody knows: a file has no statistics, or the log before it is cleaned.
    """
    store = store_of(path)
    if store is None:
        return False
    with suppress(NotByTasks, FileNotFoundError):
        actions = actions_of(store, commit_path(path, version))
        if any("add" in each or "remove" in each for each in actions):
            before, after = past(path, version - 1), past(path, version)
            counted = _rows(before), _rows(after)
            return (None not in counted and counted[0] != counted[1]) or narrowed(before, after)
    return False


def same_files(path: str, state: LogState, version: int) -> bool:
    """Whether the rows are those of an earlier version, by the same files and deletion vectors; False where the log of then is cleaned."""
    with suppress(NotByTasks, FileNotFoundError):
        return _files(state) == _files(past(path, version))
    return False


def _files(state: LogState) -> dict[str, object]:
    return {path: each.get("deletionVector") for path, each in state.files.items()}


def _rows(state: LogState) -> int | None:
    """Without those that deletion vectors mark; None where a file does not tell."""
    held = [json.loads(each.get("stats") or "{}").get("numRecords") for each in state.files.values()]
    marked = sum(int((each.get("deletionVector") or {}).get("cardinality", 0)) for each in state.files.values())
    return None if None in held else sum(held) - marked
