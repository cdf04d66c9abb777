"""Rows that cannot land and have not come in another version since, read from the quarantine and the copy without Spark.

A row that cannot land is in no upsert's copy, so that one whose key the copy has again has landed since. One that is found gone from the
source is resolved in the quarantine. An append keeps versions, and a row without a usable key cannot be looked for: these count until the table
is read whole without them, an append's until the source has their key no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.databases.measure import SEPARATOR
from incremental_assets.adapters.delta.key_values import canonical_text, key_value
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.quarantine.unit import KeyTexts
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.skipping import Among, file_may_hold
from incremental_assets.adapters.delta.tasks.files.stored_rows import row_groups
from incremental_assets.adapters.spark.arrow_types import FLOATING, comparable, required_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import AT, HELD, REJECT_COLUMN, REJECT_REASON, RESOLVED_AT
from incremental_assets.core.errors import LakeRefused, StoreUnreachable, TargetChanged
from incremental_assets.core.model.column import WHOLE
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.quarantine import NONE_UNFIT, UnfitRows
from incremental_assets.core.model.table import TableSpec

_Key = tuple[Any, ...]


def unfit_rows(lake: str, spec: TableSpec) -> UnfitRows | None:
    """Those of a table; None where they are not known: of a lake, or of files, that only Spark reads."""
    try:
        kept = _kept(quarantine_path(lake, spec.id), spec)
        if not kept.num_rows:
            return NONE_UNFIT
        return _summed(kept.filter(pc.invert(_landed(kept, table_path(lake, spec.id), spec))))
    except (NotByTasks, TargetChanged, LakeRefused, StoreUnreachable):
        return None


def unfit_keys(lake: str, spec: TableSpec) -> dict[str, list[KeyTexts]]:
    """Their keys as the quarantine has them, by their canonical texts; without those that are not surely what the source has and of a lake that only Spark reads none."""
    columns = {found.name: found for found in spec.columns}
    if not spec.key or any(columns[name].spark_type in FLOATING for name in spec.key):
        return {}
    try:
        kept = _kept(quarantine_path(lake, spec.id), spec)
        kept = kept.filter(pc.invert(_landed(kept, table_path(lake, spec.id), spec))) if kept.num_rows else kept
    except (NotByTasks, TargetChanged):
        return {}
    found: dict[str, list[KeyTexts]] = {}
    texts = zip(*(kept[name].to_pylist() for name in spec.key), strict=True)
    for key, at_fault in zip(texts, kept[REJECT_COLUMN].to_pylist(), strict=True):
        parts = [canonical_text(text, columns[name]) for name, text in zip(spec.key, key, strict=True)]
        if at_fault not in spec.key_parts and None not in parts:
            found.setdefault(SEPARATOR.join(part for part in parts if part is not None), []).append(key)
    return found


def waiting_texts(lake: str, spec: TableSpec) -> tuple[tuple[str, ...], ...]:
    """The whole keys of those that cannot land, as the quarantine has them: the texts of each column. Raises NotByTasks, TargetChanged where they are not known."""
    kept = _kept(quarantine_path(lake, spec.id), spec)
    kept = kept.filter(pc.invert(_landed(kept, table_path(lake, spec.id), spec))) if kept.num_rows else kept
    whole = kept.filter(_all_valid(kept, spec.key)) if kept.num_rows else kept
    return tuple(tuple(whole[name].to_pylist()) for name in spec.key)


def _kept(path: str, spec: TableSpec) -> pa.Table:
    """The last version of each row that waits in the quarantine and that no contract holds: its key as text, why and since when."""
    asked = {**dict.fromkeys(spec.key, "string"), REJECT_REASON: "string", REJECT_COLUMN: "string", AT: "timestamp"}
    seen = log_cache.latest(path)
    if seen is None:
        return _nothing(asked)
    known = {field["name"].lower() for field in Columns.of(seen.state).fields}
    marks = {HELD: "boolean", RESOLVED_AT: "timestamp"}
    marked = {name: kind for name, kind in marks.items() if name.lower() in known}
    if not {name.lower() for name in asked} <= known:
        raise NotByTasks("the quarantine has other columns")
    read = _rows(path, seen.state, seen.state.files.values(), {**asked, **marked})
    rows = pa.concat_tables([_nothing({**asked, **marked}), *read], promote_options="default")
    if HELD in marked:
        rows = rows.filter(pc.invert(pc.fill_null(rows[HELD], False)))  # noqa: FBT003
    if RESOLVED_AT in marked:
        rows = rows.filter(pc.is_null(rows[RESOLVED_AT]))
    rows = rows.select(list(asked))
    if not spec.key:
        return rows
    # Of a key that was read again and again the newest version counts; rows without a whole key are each their own.
    whole = _all_valid(rows, spec.key)
    by_age = rows.filter(whole).sort_by(AT).group_by([*spec.key], use_threads=False)
    told = [name for name in asked if name not in spec.key]
    latest = by_age.aggregate([(name, "last") for name in told]).rename_columns([*spec.key, *told])
    return pa.concat_tables([latest.select(list(asked)), rows.filter(pc.invert(whole)).select(list(asked))])


def _nothing(asked: Mapping[str, str]) -> pa.Table:
    """No rows, in these columns."""
    return pa.table({name: pa.array([], required_type(kind)) for name, kind in asked.items()})


def _landed(kept: pa.Table, path: str, spec: TableSpec) -> pa.ChunkedArray:
    """Of each of these rows whether the copy has its key."""
    nowhere = pa.chunked_array([pa.array([False] * kept.num_rows, pa.bool_())])
    seen = log_cache.latest(path)
    if seen is None or not spec.key or not spec.traits.one_row_per_key:
        return nowhere
    types = {found.name: found.spark_type for found in spec.columns}
    keys: list[_Key | None] = _typed(kept, spec)
    wanted = {key for key in keys if key is not None}
    asked = {name: types[name] for name in spec.key}
    within = _near(Columns.of(seen.state), asked, wanted)
    files = [add for add in seen.state.files.values() if file_may_hold(add.get("stats"), within)]
    found: set[_Key] = set()
    for rows in _rows(path, seen.state, files, asked, within):
        found |= wanted.intersection(zip(*(comparable(rows[name]).to_pylist() for name in spec.key), strict=True))
    return pa.chunked_array([pa.array([key in found for key in keys], pa.bool_())])


def _near(columns: Columns, asked: Mapping[str, str], wanted: Iterable[_Key]) -> tuple[Among, ...]:
    """What the log tells of files that cannot have one of the keys, by their first column; nothing where that is no whole number."""
    name, kind = next(iter(asked.items()))
    values = {key[0] for key in wanted}
    if kind not in WHOLE or not values:
        return ()
    return (Among(columns.stored(name, kind).name, kind, np.sort(np.array(list(values), dtype=np.int64))),)


def _typed(kept: pa.Table, spec: TableSpec) -> list[_Key | None]:
    """Keys in the types of the copy; None where a text is no value of its type, as of a row that cannot land for it."""
    by_name = {found.name: found for found in spec.columns}
    columns = [[key_value(text, by_name[name]) for text in kept[name].to_pylist()] for name in spec.key]
    return [None if None in key else key for key in zip(*columns, strict=True)]


def _rows(
    path: str,
    state: LogState,
    files: Iterable[Mapping[str, Any]],
    asked: Mapping[str, str],
    within: Sequence[Among] = (),
) -> Iterator[pa.Table]:
    columns = Columns.of(state)
    stored = [columns.stored(name, kind) for name, kind in asked.items()]
    for add in files:
        with row_groups(path, add, within) as groups:
            for group in groups:
                yield pa.table(group.columns(stored), names=list(asked)).filter(pa.array(group.alive))


def _all_valid(rows: pa.Table, names: tuple[str, ...]) -> pa.ChunkedArray:
    valid = pc.is_valid(rows[names[0]])
    for name in names[1:]:
        valid = pc.and_(valid, pc.is_valid(rows[name]))
    return valid


def _summed(rows: pa.Table) -> UnfitRows:
    if not rows.num_rows:
        return NONE_UNFIT
    reasons = Counter(rows[REJECT_REASON].to_pylist())
    ordered = tuple(sorted(reasons.items(), key=lambda each: (-each[1], each[0])))
    return UnfitRows(rows.num_rows, ordered, pc.min(rows[AT]).as_py())
