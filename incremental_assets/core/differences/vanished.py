"""Rows that wait in a quarantine and that the source has no more: nothing waits for them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from incremental_assets.core.errors import Busy
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import Ports, SourceKeys


def settle_vanished(spec: TableSpec, source: SourceKeys, ports: Ports) -> None:
    """Say so of those whose key a snapshot does not show. Under the lease, so that no run keeps one meanwhile that has come back."""
    gone = _absent(ports.quarantine.waiting_keys(spec), source)
    if gone:
        ports.quarantine.settle_gone(spec, gone)


def look_for_vanished(spec: TableSpec, run_id: str, ports: Ports) -> None:
    """The same of a table that nobody syncs now: the lease is taken only where a look without it has found such a row."""
    rows = ports.probe.rows
    waiting = ports.quarantine.waiting_keys(spec) if spec.key and rows is not None else frozenset()
    if rows is None or not waiting:
        return
    with rows.keys(spec) as source:
        gone = _absent(waiting, source)
    if not gone:
        return
    try:
        with ports.checkpoints.lease(spec.id, run_id), rows.keys(spec) as source:
            settle_vanished(spec, source, ports)
    except Busy:
        # Who holds it may be about to say so; else the next look does.
        return


def _absent(keys: AbstractSet[str], source: SourceKeys) -> AbstractSet[str]:
    return keys - source.present(keys) if keys else keys
