"""Runs in a task: lands a batch that one task lands as a whole."""

from __future__ import annotations

from incremental_assets.adapters.delta.direct.files.unit import Applied, ApplyUnit
from incremental_assets.adapters.delta.direct.matching import share_task
from incremental_assets.adapters.delta.direct.matching.applied import together


def apply(unit: ApplyUnit) -> Applied:
    """What the commit says to the log. Raises NotDirect for what only Spark should read."""
    return together(unit, [share_task.apply(unit)])
