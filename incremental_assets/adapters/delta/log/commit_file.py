"""The next version of a log, put there only if nobody else has: who is second writes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version as version_of
from typing import Any

from incremental_assets.adapters.delta.log.commit_text import ACTIONS
from incremental_assets.adapters.delta.log.log_state import commit_path
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.lake_store.store import NotOffered
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks

ENGINE = f"incremental-assets/{version_of('incremental-assets')}"


def put_if_absent(table: str, version: int, actions: Iterable[Mapping[str, Any]]) -> bool:
    """Commit these actions as a version; False where that version is another's. It outlasts the power of the machine before this returns.

    One of the actions tells this commit from all others, as `store.Writing` wants it. Raises NotByTasks, and StoreUnreachable where nobody can tell whether it landed.
    """
    store, told = store_for(table), _counted(list(actions))
    data = b"".join(json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for each in told)
    # The data files' names first: what the log names must be there after the machine has lost its power.
    store.settle(table)
    try:
        return store.put_if_absent(commit_path(table, version), data)
    except NotOffered as why:
        raise NotByTasks(str(why)) from why


def _counted(actions: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The actions, of which what the commit says of itself tells how many there are."""
    return [
        {"commitInfo": {**each["commitInfo"], ACTIONS: len(actions)}} if "commitInfo" in each else each
        for each in actions
    ]
