"""Commit a first load: the rows are already in the target, and this commit records their position."""

from __future__ import annotations

from incremental_assets.adapters.delta import commit
from incremental_assets.adapters.delta.writers.landing import Landing, Written


def write(landing: Landing) -> Written:
    """A commit without rows."""
    note = landing.note()
    commit.write(commit.empty(landing.session), commit.Write(landing.path, note))
    return Written(note)
