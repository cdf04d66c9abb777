"""What a contract holds of a table, read from its quarantine without Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.direct.landing_unit import Columns
from incremental_assets.adapters.delta.direct.stored_rows import row_groups
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.not_direct import NotDirect
from incremental_assets.adapters.spark.own_names import AT, HELD, REJECT_REASON, RESOLVED_AT, STALE
from incremental_assets.core.model.paths import is_local, quarantine_path
from incremental_assets.core.model.quarantine import NOTHING_HELD, HeldRows
from incremental_assets.core.model.table import TableSpec

_READ = {HELD: "boolean", RESOLVED_AT: "timestamp", REJECT_REASON: "string", AT: "timestamp", STALE: "boolean"}


def held_rows(lake: str, spec: TableSpec) -> HeldRows | None:
    """Rows that are held now; None where only a session could tell, as of a lake in a store."""
    if spec.contract is None:
        return NOTHING_HELD
    path = quarantine_path(lake, spec.id)
    if not is_local(lake):
        return None
    try:
        return _summed(_open(path))
    except NotDirect:
        return None


def _open(path: str) -> pa.Table:
    """Rows that are held and not resolved."""
    seen = log_cache.latest(path)
    parts = []
    if seen is not None and HELD in {field["name"] for field in Columns.of(seen.state).fields}:
        columns = Columns.of(seen.state)
        stored = [columns.stored(name, kind) for name, kind in _READ.items()]
        for add in seen.state.files.values():
            for group in row_groups(path, add, ()):
                rows = pa.table(group.columns(stored), names=list(_READ)).filter(pa.array(group.alive))
                parts.append(rows.filter(pc.and_(pc.is_null(rows[RESOLVED_AT]), pc.fill_null(rows[HELD], False))))  # noqa: FBT003
    return pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.null()) for name in _READ})


def _summed(rows: pa.Table) -> HeldRows:
    if not rows.num_rows:
        return NOTHING_HELD
    stale = rows.filter(pc.fill_null(rows[STALE], False))  # noqa: FBT003
    reasons = Counter(rows[REJECT_REASON].to_pylist())
    return HeldRows(
        rows=rows.num_rows,
        reasons=tuple(sorted(reasons.items(), key=lambda each: (-each[1], each[0]))),
        oldest=_first(rows[AT]),
        stale=stale.num_rows,
        stale_since=_first(stale[AT]),
    )


def _first(moments: pa.ChunkedArray) -> Any:
    return pc.min(moments).as_py()
