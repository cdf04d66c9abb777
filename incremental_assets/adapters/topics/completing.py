"""The newest change of each row beside the row that the copy has: what is older is left, and what did not come is taken from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from incremental_assets.adapters.spark.arrow_types import comparable, required_type, typed
from incremental_assets.adapters.topics.changes import Change, Decoding, Key, Reject
from incremental_assets.adapters.topics.events import TOMBSTONE
from incremental_assets.adapters.topics.folding import Folded, check_order, is_read, reached
from incremental_assets.adapters.topics.tombstones import Tombstones
from incremental_assets.adapters.topics.typed import keys_of
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.captures.topic.reading import of_topic
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


@dataclass(frozen=True, slots=True)
class Completed:
    """One change for each row that changes, the last one; of those that are gone, by their keys, the place in the source's log before which nothing of them comes back."""

    changes: list[Change]
    gone: dict[Key, int]


def completed(plan: SyncPlan, found: Folded, decoding: Decoding, copy: CopyRows, tombstones: Tombstones) -> Completed:
    """Raises OtherLog, LakeRefused."""
    reading = of_topic(plan)
    before = reading.log
    if reading.begins_anew:
        # No row of the copy counts, and every record may come again.
        held, repeated = {}, set(found.rows)
    else:
        repeated = {key for key, chain in found.rows.items() if 0 <= _first(chain, before) < before.highest}
        needing = {key: chain for key, chain in found.rows.items() if key in repeated or _needs_row(chain)}
        held = _held(plan.spec, needing, decoding, copy) if needing else {}
    deleted = tombstones.places(repeated - held.keys())
    done = Completed([], {})
    for key, chain in found.rows.items():
        base = held.get(key)
        place = deleted.get(key, 0) if base is None else base.position
        for each in chain:
            check_order(each, place, before.latest)
        left = [each for each in chain if reached(each) == -1 or reached(each) >= place]
        for each in left:
            if is_read(each):
                each.order = max(each.order, place, found.log.emptied)
        if not left:
            continue
        last = _last(left, base, decoding)
        done.changes.append(last)
        if not last.values and last.reject is None:
            # A tombstone alone does not say of which delete it is: nothing older than the row that it takes away comes back.
            done.gone[key] = max(last.order, place)
    return done


def _first(chain: Sequence[Change], before: Log) -> int:
    """The lowest place. What a snapshot has read has none of its own, so that it may be lower than any, once there was a change."""
    return 0 if is_read(chain[0]) and before.has_changes else chain[0].order


def _needs_row(chain: Sequence[Change]) -> bool:
    return bool(chain[0].unsent) or (chain[0].order == -1 and chain[0].op == TOMBSTONE)


def emptied(plan: SyncPlan, done: Iterable[Change], log: Log, copy: CopyRows) -> list[Key]:
    """The keys of the copy that a truncation has taken away. Raises Refused where it would leave nothing."""
    spec = plan.spec
    rows = copy(spec, [*spec.key, POSITION], None)
    named = {change.key: change for change in done}
    positions = rows.column(POSITION).to_pylist()
    keys = keys_of(rows, spec.key)
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
    if not any(each.unsent for each in chain):
        return chain[-1]
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
    columns = [comparable(rows.column(name)).to_pylist() for name in names]
    return {
        key: _Held(position or 0, {place: column[number] for place, column in zip(unsent, columns, strict=True)})
        for number, (key, position) in enumerate(zip(keys_of(rows, spec.key), positions, strict=True))
    }
