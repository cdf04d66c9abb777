"""Retry once if the engine is lost, or another writer committed first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from incremental_assets.core.errors import EngineLost, Overtaken
from incremental_assets.core.model.table import TableId
from incremental_assets.core.observers import Observer

Answer = TypeVar("Answer")


def retry_once(work: Callable[[], Answer], table: TableId, observer: Observer) -> Answer:
    """Call it, and call it again if the engine is lost, or another commit comes between: half-finished work of a dead attempt is found.

    Once is enough. An engine ends once. And a run that was killed leaves an engine one operation of a table to end, which commits once.
    """
    try:
        return work()
    except (EngineLost, Overtaken) as error:
        observer.on_retry(table, error)
        return work()
