"""The changes of one table behind a position, out of the segments: as many as are worth one batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.logs.changes import LSN
from incremental_assets.adapters.logs.joining import Snapshot, not_shown
from incremental_assets.adapters.logs.segments.manifest import Manifest, Piece
from incremental_assets.adapters.logs.segments.shelf import Shelf
from incremental_assets.core.captures.log.lsn import lsn_text
from incremental_assets.core.captures.log.position import Join, LogPosition
from incremental_assets.core.captures.log.reading import LogReading, of_log
from incremental_assets.core.errors import SchemaChanged, SourceRefused
from incremental_assets.core.model.change_columns import as_in_source
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

MOST_CHANGES = 2_000_000
MOST_BYTES = 2**30
"""A batch ends with the transaction in which it has as many of either, and the next sync goes on from there."""
MOST_BYTES_AT_ONCE = 2**32
"""Of one transaction, which is not landed in parts."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Changes in their order; None where there is none. `end`: the position behind the last commit that is among them, or that was looked at."""

    changes: pa.Table | None
    end: int
    goes_on: bool = False
    """Whether there are more, as it is a full batch."""
    parts: frozenset[int] = frozenset()
    """The partitions, by their numbers, of which these are changes, and perhaps others."""


@dataclass(frozen=True, slots=True)
class _Range:
    """What of a table is asked for. `joined`: the snapshot that counts; `end`: None for all that there is, else of the log of `server`."""

    oid: int
    begin: int
    joined: Join | None
    end: int | None = None
    server: str = ""

    def among(self, manifests: Iterable[Manifest]) -> Iterator[Manifest]:
        """Those before the first that came later; of another server, those on which this one's log goes on."""
        found, known = list(manifests), {self.server}
        for before, after in reversed(list(pairwise(found))):
            if after.standing.passes and _server(after) in known:
                known.add(_server(before))
        for manifest in found:
            if self.end is not None and (manifest.begin >= self.end or _server(manifest) not in known):
                return
            yield manifest


def gathered(shelf: Shelf, plan: SyncPlan) -> Gathered:
    """Raises LakeRefused where a segment is missing or damaged, SourceRefused where changes are, SchemaChanged where they have other columns."""
    reading, begin = of_log(plan), of_log(plan).begin or 0
    standing = shelf.standing()
    found: list[pa.Table] = []
    count = size = 0
    for rows in _rows(shelf, plan.spec, _Range(reading.number, begin, reading.join)):
        found.append(rows)
        count, size = count + len(rows), size + rows.nbytes
        if count >= MOST_CHANGES or size >= MOST_BYTES:
            last = rows.column(LSN)[-1].as_py()
            if found[0].column(LSN)[0].as_py() < last:
                # Where that commit begins all before it are over, so that it is the position between the two.
                whole = [each.filter(pc.less(each.column(LSN), last)) for each in found]
                parts = _parts(shelf, reading, last)
                return Gathered(_together(plan.spec, whole), last, goes_on=True, parts=parts)
            _check_size(plan, size)
    end = max(begin, standing.position if standing else 0)
    parts = _parts(shelf, reading, end) if found else frozenset()
    return Gathered(_together(plan.spec, found), end, parts=parts)


def landed_last(shelf: Shelf, spec: TableSpec, at: LogPosition) -> pa.Table | None:
    """The changes with which a copy came to its position, again; None where there are none. Raises likewise."""
    asked = _Range(at.number, at.behind or 0, at.lacked, at.lsn, at.server)
    return _together(spec, list(_rows(shelf, spec, asked)))


def changed_behind(shelf: Shelf, spec: TableSpec, at: LogPosition) -> Iterator[pa.Table]:
    """All that a copy at this position lacks, some thousands at a time. Raises likewise."""
    return _rows(shelf, spec, _Range(at.number, at.lsn or 0, at.join))


def _rows(shelf: Shelf, spec: TableSpec, asked: _Range) -> Iterator[pa.Table]:
    """The changes of the range that the copy lacks, some thousands at a time."""
    snapshot = _snapshot(asked.joined)
    for manifest in asked.among(shelf.after(asked.begin)):
        if asked.oid in manifest.gaps:
            raise SourceRefused(f"{spec.id}: {manifest.gaps[asked.oid]}")
        for piece in manifest.pieces:
            if piece.oid == asked.oid:
                _check_columns(spec, piece)
        for rows in shelf.rows(manifest, asked.oid):
            behind = rows.filter(pc.greater_equal(rows.column(LSN), asked.begin))
            if asked.end is not None:
                behind = behind.filter(pc.less(behind.column(LSN), asked.end))
            lacking = behind if snapshot is None else not_shown(behind, snapshot)
            if len(lacking):
                yield lacking


def _server(manifest: Manifest) -> str:
    server = manifest.standing.server
    return f"{server.system}/{server.timeline}"


def _parts(shelf: Shelf, reading: LogReading, end: int) -> frozenset[int]:
    read = (manifest for manifest in shelf.after(reading.begin or 0) if manifest.begin < end)
    return frozenset(part for manifest in read for part in manifest.parts.get(reading.number, ()))


def _check_size(plan: SyncPlan, size: int) -> None:
    if size > MOST_BYTES_AT_ONCE:
        raise SourceRefused(
            f"{plan.spec.id}: one transaction has changed {size >> 20:,} MiB of it, more than can be landed at once; load the table again with {full_refresh(plan.spec)}"
        )


def _snapshot(join: Join | None) -> Snapshot | None:
    return None if join is None else Snapshot.of(join.visible, lsn_text(join.written))


def _together(spec: TableSpec, found: list[pa.Table]) -> pa.Table | None:
    if not found:
        return None
    names = as_in_source(spec).shape.names
    own = [name for name in found[0].column_names if name not in names]
    return pa.concat_tables([rows.select([*own, *names]) for rows in found]).unify_dictionaries()


def _check_columns(spec: TableSpec, piece: Piece) -> None:
    here = as_in_source(spec).columns
    # In their order, which new names leave as it is: two columns may have had each other's for a while.
    was, now = ([(each.name, each.spark_type) for each in columns] for columns in (piece.columns, here))
    if was != now:
        raise SchemaChanged(
            f"{spec.id}: the log has changes of it with other columns than it has now, and does not tell what ALTER TABLE did to rows that it did not change; "
            f"load the table again with {full_refresh(spec)}"
        )
