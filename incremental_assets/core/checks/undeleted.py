"""Rows of a copy whose keys the source no longer has, where deletes are followed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from incremental_assets.core.differences.gone import gone_keys
from incremental_assets.core.model.cures import sync, sync_now
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import Ports
from incremental_assets.core.words import agreeing, counted

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Undeleted:
    """How many there are, and at most ten of their keys. `is_expected`: whether the next comparison of keys is not due yet."""

    rows: int
    detail: str
    samples: tuple[str, ...]
    cure: str
    is_expected: bool


def undeleted(spec: TableSpec, state: State, ports: Ports) -> Undeleted | None:
    """The rows of the copy whose deletion was not seen; None where deletes are not followed, and where there is no such row. The copy's version is chosen before the source is asked."""
    copy = ports.by_key.keys(spec) if spec.deletes.compares else None
    if copy is None:
        return None
    with ports.source_rows(spec).keys(spec) as source:
        gone = gone_keys(copy, source)
    if not gone:
        return None
    (seen,) = ports.probe.observe((ObserveRequest(spec, state),))
    last, every = state.compared, spec.deletes.every
    waits = last is not None and timedelta() <= seen.bound.clock - last.clock < every
    due = f"{last.clock + every:%Y-%m-%d %H:%M}Z" if last is not None and waits else ""
    follower = f"the comparison of keys that is due at {due}" if due else "the next sync"
    rows = len(gone)
    return Undeleted(
        rows,
        f"{counted(rows, 'row')} of the copy {agreeing(rows, 'was', 'were')} deleted in the source; {follower} finds {agreeing(rows, 'it', 'them')}",
        tuple(ports.by_key.readable(spec, text) for text in sorted(copy.as_written(frozenset(sorted(gone)[:_NAMED])))),
        sync_now(spec.id) + " finds them now" if waits else sync(spec.id) + " finds them",
        waits,
    )
