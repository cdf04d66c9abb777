"""Runs in a task: lands a batch that one task lands as a whole."""

from __future__ import annotations

from incremental_assets.adapters.delta.direct import share_task
from incremental_assets.adapters.delta.direct.applied import together
from incremental_assets.adapters.delta.direct.unit import Applied, ApplyUnit


def apply(unit: ApplyUnit) -> Applied:
    """What the commit says to the log. Raises NotDirect for what only Spark should read."""
    return together(unit, [share_task.apply(unit)])
