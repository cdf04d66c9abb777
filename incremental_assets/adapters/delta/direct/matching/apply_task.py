"""Runs in a task: matches a batch as a whole, in one share, and gives the actions of its commit."""

from __future__ import annotations

from incremental_assets.adapters.delta.direct.files.unit import Applied, ApplyUnit
from incremental_assets.adapters.delta.direct.matching import share_task
from incremental_assets.adapters.delta.direct.matching.applied import together


def apply(unit: ApplyUnit) -> Applied:
    """The actions for the log, and what was counted. Raises NotDirect for what only Spark should read."""
    return together(unit, [share_task.apply(unit)])
