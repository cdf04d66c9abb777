"""The files of a table as its log tells them, without Spark."""

from __future__ import annotations

from dataclasses import replace

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.tasks.compaction.gathering import refused_by
from incremental_assets.core.model.compaction import Layout


def layout(path: str) -> Layout:
    """No files where there is no table."""
    log = open_log(path)
    return Layout((), 0, 0) if log is None else replace(log.layout(), by_tasks=_is_for_tasks(path, log.version))


def _is_for_tasks(path: str, version: int) -> bool:
    return plane.known(lambda: refused_by(log_cache.at(path, version))) == ""
