"""The newest change of each row beside the row that the copy has: what is older is left, and what did not come is taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.spark.arrow_types import required_type
from incremental_assets.adapters.topics.changes import Change, Decoding, Key, Reject
from incremental_assets.adapters.topics.folding import Folded, check_order
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.errors import Refused
from incremental_assets.core.model.cures import allow_shrink
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.topic_columns import POSITION
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.words import counted

CopyRows = Callable[[TableSpec, Sequence[str], pa.Table | None], pa.Table]
"""Some columns of a copy's rows as they are now: of those with these keys, or of all."""
NOWHERE = (
    "the record does not have this value, as the update left it as it was, and no row that landed has it to take it from: "
    "with REPLICA IDENTITY FULL the source sends it"
)


@dataclass(frozen=True, slots=True)
class _Held:
    """What the copy has of a row."""

    position: int
    values: dict[int, Any]


def completed(plan: SyncPlan, found: Folded, before: Log, decoding: Decoding, copy: CopyRows) -> list[Change]:
    """One change for each row that changes, the last one. Raises OtherLog, and Refused where a truncation would leave nothing."""
    needing = {
        key: chain for key, chain in found.rows.items() if 0 <= chain[0].order < before.highest or chain[0].unsent
    }
    held = _held(plan.spec, needing, decoding, copy) if needing else {}
    done: list[Change] = []
    for key, chain in found.rows.items():
        base = held.get(key)
        if base is not None:
            for each in chain:
                check_order(each, base.position, before.latest)
            chain = [each for each in chain if each.order == -1 or each.order >= base.position]  # noqa: PLW2901 - what is left of it
        if chain:
            done.append(_last(chain, base, decoding))
    return done


def emptied(plan: SyncPlan, done: Iterable[Change], log: Log, copy: CopyRows) -> list[Key]:
    """The keys of the copy that a truncation has taken away. Raises Refused where it would leave nothing."""
    spec = plan.spec
    rows = copy(spec, [*spec.key, POSITION], None)
    named = {change.key: change for change in done}
    positions = rows.column(POSITION).to_pylist()
    keys = _keys(rows, spec.key)
    gone = [
        key for key, at in zip(keys, positions, strict=True) if (at is None or at < log.emptied) and key not in named
    ]
    stays = len(gone) < len(keys) or any(change.reject is None and change.values for change in named.values())
    if keys and not stays and not plan.request.allow_shrink:
        raise Refused(
            f"{spec.id}: the table was truncated in the source, which would leave none of the {counted(len(keys), 'row')} in the copy, so it was left as it is; "
            f"if that is right, run {allow_shrink(spec.id)}, and once the table has rows again a sync goes on by itself"
        )
    return gone


def _last(chain: Sequence[Change], held: _Held | None, decoding: Decoding) -> Change:
    known = {} if held is None else dict(held.values)
    for each in chain:
        if each.values and each.reject is None:
            for place in each.unsent:
                each.values[place] = known.get(place)
            lacking = {place for place in each.unsent if place not in known}
            known = {place: value for place, value in enumerate(each.values) if place not in lacking}
        else:
            known, lacking = {}, set()
    last = chain[-1]
    if lacking:
        name = decoding.names[min(lacking)]
        return replace(last, reject=Reject(name, NOWHERE, decoding.told(last)))
    return last


def _held(spec: TableSpec, needing: dict[Key, list[Change]], decoding: Decoding, copy: CopyRows) -> dict[Key, _Held]:
    unsent = sorted({place for chain in needing.values() for each in chain for place in each.unsent})
    names = [decoding.names[place] for place in unsent]
    ordered = POSITION in spec.shape.names
    types = {each.name: required_type(each.spark_type) for each in spec.columns}
    keys = pa.table({name: typed([key[place] for key in needing], types[name]) for place, name in enumerate(spec.key)})
    wanted = [*spec.key, *(name for name in names if name not in spec.key), *([POSITION] if ordered else [])]
    rows = copy(spec, wanted, keys)
    positions = rows.column(POSITION).to_pylist() if ordered else [0] * len(rows)
    columns = [plain(rows.column(name)).to_pylist() for name in names]
    return {
        key: _Held(position or 0, {place: column[number] for place, column in zip(unsent, columns, strict=True)})
        for number, (key, position) in enumerate(zip(_keys(rows, spec.key), positions, strict=True))
    }


def _keys(rows: pa.Table, key: Sequence[str]) -> list[Key]:
    return list(zip(*(plain(rows.column(name)).to_pylist() for name in key), strict=True))


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Days and moments as the numbers that decoding gives."""
    if pa.types.is_date32(values.type):
        return values.cast(pa.int32())
    return values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values


def typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The other way round."""
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)
