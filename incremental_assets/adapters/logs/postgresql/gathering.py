"""The changes of one table behind a position, out of the segments: as many as are worth one batch."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from incremental_assets.adapters.logs.postgresql.joining import Snapshot, not_shown
from incremental_assets.adapters.logs.postgresql.segments.manifest import Piece
from incremental_assets.adapters.logs.postgresql.segments.shelf import Shelf
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.captures.log.position import Join
from incremental_assets.core.captures.log.reading import of_log
from incremental_assets.core.errors import SchemaChanged, SourceRefused
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

MOST_CHANGES = 2_000_000
"""A batch ends with the segment in which it has as many."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Changes in their order; None where there is none. `end`: the position behind the last segment that was looked into."""

    changes: pa.Table | None
    end: int


def gathered(shelf: Shelf, plan: SyncPlan) -> Gathered:
    """Raises LakeRefused where a segment is missing or damaged, SourceRefused where changes are, SchemaChanged where they have other columns."""
    reading = of_log(plan)
    begin, snapshot = reading.begin or 0, _snapshot(reading.join)
    standing = shelf.standing()
    found: list[pa.Table] = []
    for manifest in shelf.after(begin):
        if reading.number in manifest.gaps:
            raise SourceRefused(f"{plan.spec.id}: {manifest.gaps[reading.number]}")
        for piece in manifest.pieces:
            if piece.oid == reading.number:
                _check_columns(plan.spec, piece)
        rows = shelf.rows(manifest, reading.number)
        found += rows if snapshot is None else (not_shown(each, snapshot) for each in rows)
        if sum(map(len, found)) >= MOST_CHANGES:
            return Gathered(_together(plan.spec, found), manifest.end)
    return Gathered(_together(plan.spec, found), max(begin, standing.position if standing else 0))


def _snapshot(join: Join | None) -> Snapshot | None:
    return None if join is None else Snapshot.of(join.visible, lsn_text(join.written))


def _together(spec: TableSpec, found: list[pa.Table]) -> pa.Table | None:
    some = [rows for rows in found if len(rows)]
    if not some:
        return None
    own = [name for name in some[0].column_names if name not in spec.shape.names]
    return pa.concat_tables([rows.select([*own, *spec.shape.names]) for rows in some]).unify_dictionaries()


def _check_columns(spec: TableSpec, piece: Piece) -> None:
    was, now = (sorted((each.name, each.spark_type) for each in columns) for columns in (piece.columns, spec.columns))
    if was != now:
        raise SchemaChanged(
            f"{spec.id}: the log has changes of it with other columns than it has now, and does not tell what ALTER TABLE did to rows that it did not change; "
            f"load the table again with {full_refresh(spec)}"
        )
