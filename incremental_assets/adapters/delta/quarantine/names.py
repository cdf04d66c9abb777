"""Columns of a copy that get other names, in its quarantine: rows that wait there are found again by the names of their key."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.renaming import Named, rename
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Renaming

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rename_quarantine(session: Callable[[], SparkSession], lake: str, spec: TableSpec, renaming: Renaming) -> None:
    """One commit, before that of the copy. A run that died between the two is followed by one that finds these names there."""
    path = quarantine_path(lake, spec.id)
    held = open_log(path)
    if held is None:
        return
    before, after = ({getattr(each, at).lower() for each in renaming.renames} for at in ("before", "after"))
    names = {found.name.lower() for found in held.columns()}
    exchanged = before & after - {
        each.before.lower() for each in renaming.renames if each.before.lower() == each.after.lower()
    }
    if exchanged or not before & names:
        # Of names that are exchanged nobody could tell whether that was done.
        return
    ids = renaming.commit_ids
    note = CommitMetadata(Kind.QUARANTINE, held.app_id, ids.seq, uuid.uuid4().hex, renaming.run_id, held.version)
    cure = f"move {path} away, with the rows that wait in it, and sync again"
    rename(session, spec, Named(path, renaming.renames, note, cure, transaction=(f"{held.app_id}/names", ids.seq)))
