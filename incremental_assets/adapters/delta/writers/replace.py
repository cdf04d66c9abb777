"""Rows take the place of those with their keys: Delta finds these, marks them in their files and leaves the others where they lie."""

from __future__ import annotations

from incremental_assets.adapters.delta import commit, dedup
from incremental_assets.adapters.delta.writers.landing import Landing, Written


def write(landing: Landing) -> Written:
    """A row that the target holds as it is stays untouched."""
    plan, session, changes = landing.plan, landing.session, landing.changes
    changed = dedup.changed_rows(session, plan, landing.rows(session), landing.present)
    rows, counted = commit.counted(changed)
    # Rows that are marked may lie anywhere.
    note, within = landing.note(), () if landing.found.marked else landing.delivery.batch.keys
    to = commit.Write(landing.path, note, replacing=plan.spec.key, within=within, evolves=bool(changes))
    commit.write(landing.shaped(session, rows), to)
    return Written(note, late=lambda: counted.late, warnings=landing.warnings())
