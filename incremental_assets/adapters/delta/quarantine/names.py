"""Columns of a copy that get other names, in its quarantine: rows that wait there are found again by the names of their key.

The quarantine follows the copy, under the version of the copy in which the rename was made: its log accepts that once, so that exchanged names are not exchanged back by
a run that finds the copy renamed and cannot tell how far the one before it came.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.log.transaction_log import Committed, TableLog, open_log
from incremental_assets.adapters.delta.renaming import Named, check_renamable, rename
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.rename import Rename
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def check_quarantine_renamable(lake: str, spec: TableSpec, renames: Sequence[Rename]) -> None:
    """Raises SchemaChanged where the rows that wait could not follow. Asked before the copy is renamed."""
    path = quarantine_path(lake, spec.id)
    held = open_log(path)
    if held is not None and _has(held, renames):
        note = CommitMetadata(Kind.QUARANTINE, held.app_id, 0, "", "", held.version)
        check_renamable(spec, Named(path, tuple(renames), note, _cure(path)))


def rename_quarantine(
    session: Callable[[], SparkSession], lake: str, spec: TableSpec, copy: TableLog, done: Committed
) -> None:
    """Follow a commit of the copy that renamed columns; does nothing where that was done, or for any other commit."""
    path, note = quarantine_path(lake, spec.id), done.note
    held = open_log(path)
    if held is None or note is None or not note.renames or not _has(held, note.renames):
        return
    names = f"{copy.table_id}/names"
    if held.last_sequence(names) >= done.version:
        return
    ours = CommitMetadata(Kind.QUARANTINE, held.app_id, note.seq, uuid.uuid4().hex, note.run_id, held.version)
    rename(session, spec, Named(path, note.renames, ours, _cure(path), transaction=(names, done.version)))


def _has(held: TableLog, renames: Sequence[Rename]) -> bool:
    return not {each.before.lower() for each in renames}.isdisjoint(found.name.lower() for found in held.columns())


def _cure(path: str) -> str:
    return f"move {path} away, with the rows that wait in it, and sync again"
