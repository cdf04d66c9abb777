"""Retry once if the engine is lost, another writer committed first, or the source had no connection for a reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from incremental_assets.core.errors import EngineLost, IncrementalAssetsError, Overtaken, SourceFull
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.observing.occurrences import Retried
from incremental_assets.core.ports import Ports

Answer = TypeVar("Answer")


def retry_once(work: Callable[[], Answer], table: TableId, ports: Ports, run_id: str = "") -> Answer:
    """Call it, and call it again if the engine is lost, or another commit comes between: half-finished work of a dead attempt is found.

    Once is enough. An engine ends once. A source that had no connection for a reader is read by one session from then on. And a run that was killed leaves an engine one operation of a table to end, which commits once.
    """
    try:
        return _or_engine_lost(work, ports)
    except (EngineLost, Overtaken, SourceFull) as error:
        ports.observer.notify(Retried(table, error, run_id))
        return work()


def _or_engine_lost(work: Callable[[], Answer], ports: Ports) -> Answer:
    """Call it, and raise EngineLost for any unexpected error if another thread has found meanwhile that the engine is gone.

    That thread has begun a session of another kind for the whole process: what this one still builds is of both kinds.
    """
    before = ports.lost_engine()
    try:
        return work()
    except IncrementalAssetsError:
        raise
    except Exception as error:
        lost = ports.lost_engine()
        if lost is None or lost is before:
            raise
        raise lost from error
