"""Runs in a task: matches a batch as a whole, in one share, and gives the actions of its commit."""

from __future__ import annotations

from incremental_assets.adapters.delta.tasks.files.unit import Applied, ApplyUnit
from incremental_assets.adapters.delta.tasks.matching import copy_task, share_task
from incremental_assets.adapters.delta.tasks.matching.applied import copies, together


def apply(unit: ApplyUnit) -> Applied:
    """The actions for the log, and what was counted. Raises NotByTasks for what only Spark should read."""
    done = [share_task.apply(unit)]
    return together(unit, done, [copy_task.apply(each) for each in copies(unit, done)])
