"""Overwrite: the batch replaces the whole target, for each full refresh and for the first batch that lands."""

from __future__ import annotations

from incremental_assets.adapters.delta import commit
from incremental_assets.adapters.delta.writers.landing import Landing, Written


def write(landing: Landing) -> Written:
    """Every row that can land, and nothing else."""
    plan, changes = landing.plan, landing.changes
    before = landing.log.rows() if plan.overwrites and landing.found.landed else 0
    rows, counted = commit.counted(landing.rows(landing.session))
    note = landing.note()
    to = commit.Write(landing.path, note, overwrites=True, evolves=bool(changes))
    commit.write(commit.shaped(plan, rows, landing.present, changes), to)
    return Written(note, late=lambda: counted.late, deleted=before, into_nothing=True)
