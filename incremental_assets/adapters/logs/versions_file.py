"""The versions with which a copy came to its position, in a file beside the segments: for a history that has still to follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.logs.completing import CopyRows
from incremental_assets.adapters.logs.disk import IN_SEGMENTS, written_to
from incremental_assets.adapters.logs.gathering import landed_last
from incremental_assets.adapters.logs.log_of_source import Source
from incremental_assets.adapters.logs.row_versions import row_versions
from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.captures.log.position import LogPosition
from incremental_assets.core.errors import LakeRefused
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.table import TableSpec


@contextmanager
def versions_file(log: Source, spec: TableSpec, at: LogPosition, copy: CopyRows) -> Iterator[str]:
    """Its path for as long as the block lasts; `copy` has what the rows were before. Raises LakeRefused where a segment is no more."""
    try:
        changes = _landed_last(log, spec, at)
    except LakeRefused as error:
        what = str(error).partition(";")[0]
        raise LakeRefused(
            f"{spec.id}: {what}, with versions that its history does not have yet; restore it from a backup of the lake, or read everything again with "
            f"{full_refresh(spec)}, after which the history goes on with one version for what happened meanwhile"
        ) from None
    rows = row_versions(spec, changes, copy)
    # By its position: a run that died here has left the same, which the next one replaces and removes.
    path = log.folder / "scratch" / f"{at.number}-{at.lsn}.versions"
    try:
        with written_to(path.parent, IN_SEGMENTS):
            own_folder(path.parent)
            fresh = path.with_suffix(".new")
            pq.write_table(rows, fresh, compression="zstd", compression_level=1)
            fresh.replace(path)
        yield str(path)
    finally:
        path.unlink(missing_ok=True)


def _landed_last(log: Source, spec: TableSpec, at: LogPosition) -> pa.Table:
    log.check_whole()
    changes = landed_last(log.shelf, spec, at)
    if changes is None:
        raise LakeRefused(
            f"the log from {lsn_text(at.behind or 0)} to {lsn_text(at.lsn or 0)} is missing in {log.shelf.segments}"
        )
    return changes
