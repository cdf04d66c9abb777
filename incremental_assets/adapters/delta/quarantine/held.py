"""What waits in the quarantine of a table, above all for its contract, read without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import file_path
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.quarantine.known import Known
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.lake_store.opened import store_of
from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.spark.manifest import has_manifest, staged_files
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import AT, HELD, REJECT_REASON, RESOLVED_AT, SEQ, STALE
from incremental_assets.core.errors import LakeRefused, StageBroken, StoreUnreachable, TargetChanged
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.quarantine import NOTHING_HELD, HeldRows, held_in_store
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

_SHOWN = {REJECT_REASON: "string", AT: "timestamp", STALE: "boolean"}
_PLAIN = ("tinyint", "smallint", "int", "bigint", "string")
"""Types of which Spark and Arrow have the same texts."""


def held_rows(lake: str, spec: TableSpec) -> HeldRows | None:
    """What is held now, also by a contract that the table no longer has; None where that is not known.

    Of a lake that only Spark can reach it is known only of a table without a contract. Of a quarantine that cannot be read, the table's own sync says what is wrong.
    """
    path = quarantine_path(lake, spec.id)
    if store_of(lake) is None:
        return held_in_store(spec)
    try:
        return _summed(_open(path, _SHOWN))
    except (NotByTasks, TargetChanged, LakeRefused, StoreUnreachable):
        return None


def concerned(lake: str, plan: SyncPlan, staged: str, *, goes: bool) -> bool:
    """Whether a batch may bring what comes after a row that has waited before it; for most batches that is known without Spark. Raises TargetChanged for a log that nobody can read, and for a file that is missing.

    `goes`: whether it says of rows that they are gone. One that does not, and is not all of its table, concerns no row that cannot land.
    """
    spec, path = plan.spec, quarantine_path(lake, plan.spec.id)
    if store_of(lake) is None:
        return (spec.contract is not None or goes or plan.overwrites) and open_log(path) is not None
    types = {found.name: found.spark_type for found in spec.columns}
    keys = [name for name in spec.key if types[name] in _PLAIN]
    try:
        asked = dict.fromkeys(keys, "string") | {SEQ: "bigint"}
        held = _waiting(path, asked) if goes or plan.overwrites else _open(path, asked)
        held = held.filter(pc.not_equal(held[SEQ], plan.commit_ids.seq))
    except NotByTasks:
        return open_log(path) is not None
    if not held.num_rows or plan.overwrites or not keys or len(keys) < len(spec.key):
        return bool(held.num_rows)
    places = [f"c{spec.shape.names.index(name)}" for name in keys]
    store = store_for(staged)
    files = [store.for_arrow(f"{staged}/{each.name}") for each in staged_files(staged)]
    batch = pa.concat_tables([pq.read_table(file, columns=places, partitioning=None) for file in files])
    there = set(zip(*(batch[place].cast(pa.string()).to_pylist() for place in places), strict=True))
    return not there.isdisjoint(zip(*(held[name].to_pylist() for name in keys), strict=True))


def holds_these(staged: str, spec: TableSpec) -> bool:
    """Whether a batch that an earlier run has staged is there, with the columns that the table has now."""
    if not has_manifest(staged):
        return False
    try:
        files = staged_files(staged)
    except StageBroken:
        return False
    if not files:
        return False
    file = store_for(staged).for_arrow(f"{staged}/{files[0].name}")
    kinds = {f"c{place}": required_type(found.spark_type) for place, found in enumerate(spec.columns)}
    there = {each.name: each.type for each in pq.read_schema(file) if each.name.startswith("c")}
    return there == kinds


def _open(path: str, asked: Mapping[str, str]) -> pa.Table:
    """Some columns of the rows that a contract holds and nothing has resolved. Raises NotByTasks, TargetChanged."""
    wanted = {**asked, HELD: "boolean"}
    seen = log_cache.latest(path)
    if seen is None or not Known(seen.state).has(HELD):
        return pa.table({name: pa.array([], required_type(kind)) for name, kind in wanted.items()})
    rows = _waiting(path, wanted)
    return rows.filter(pc.fill_null(rows[HELD], False))  # noqa: FBT003


def _waiting(path: str, asked: Mapping[str, str]) -> pa.Table:
    """Some columns of all rows that nothing has resolved. Raises NotByTasks, TargetChanged."""
    seen = log_cache.latest(path)
    parts = []
    marks = {RESOLVED_AT: "timestamp"} if seen is not None and Known(seen.state).has(RESOLVED_AT) else {}
    wanted = {**asked, **marks}
    if seen is not None:
        columns = Columns.of(seen.state)
        stored = [columns.stored(name, kind) for name, kind in wanted.items()]
        for add in seen.state.files.values():
            _check_there(path, add["path"])
            with row_groups(path, add, ()) as groups:
                read = [(pa.table(group.columns(stored), names=list(wanted)), group.alive) for group in groups]
            parts += [rows.filter(pa.array(alive)) for rows, alive in read]
    if not parts:
        return pa.table({name: pa.array([], required_type(kind)) for name, kind in asked.items()})
    rows = pa.concat_tables(parts)
    return rows.filter(pc.is_null(rows[RESOLVED_AT])) if marks else rows


def _check_there(path: str, name: str) -> None:
    """Raises TargetChanged for a file that is missing: no reader has its rows."""
    if store_for(path).head(file_path(path, name)) is None:
        raise TargetChanged(
            f"{file_path(path, name)} is missing, and what the quarantine held in it; restore it, or move the quarantine away and read the table again with `incremental-assets sync --full-refresh`"
        )


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
