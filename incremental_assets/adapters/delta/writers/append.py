"""Rows are added: those that the target does not hold yet."""

from __future__ import annotations

from incremental_assets.adapters.delta import commit, dedup
from incremental_assets.adapters.delta.writers.landing import Landing, Written


def write(landing: Landing) -> Written:
    """What is there stays as it is, and so do versions of rows that the source no longer shows; where deletes are marked, one more says so."""
    plan, session, changes = landing.plan, landing.session, landing.changes
    new = dedup.new_versions(session, plan, landing.rows(session), landing.present)
    rows, counted = commit.counted(new)
    note = landing.note()
    to = commit.Write(landing.path, note, evolves=bool(changes))
    commit.write(landing.shaped(session, rows), to)
    return Written(note, late=lambda: counted.late, warnings=landing.warnings())
