"""Upsert of most of the target: it is written again together with the rows that stay; `core.landing.rewrite` says why."""

from __future__ import annotations

from incremental_assets.adapters.delta import commit, dedup
from incremental_assets.adapters.delta.file_size import rows_per_file
from incremental_assets.adapters.delta.writers.landing import Landing, Written


def write(landing: Landing) -> Written:
    """All that the target is to hold, under the columns that it has: under others, rows that stay would be other ones."""
    plan, session = landing.plan, landing.session
    changed = dedup.changed_rows(session, plan, landing.rows(session), landing.present)
    note = landing.note(rows_before=landing.log.rows())
    rows, counted = commit.counted(changed)
    shaped = commit.shaped(plan, rows, landing.present, landing.changes)
    whole = dedup.with_others(session, plan.spec, shaped, changed, landing.path)
    commit.write(whole, commit.Write(landing.path, note, overwrites=True, rows_per_file=rows_per_file(plan.spec)))
    return Written(note, late=lambda: counted.late, landed=lambda: counted.rows)
