"""Whether a copy stands as its last sync left it, so that maintenance may touch it."""

from __future__ import annotations

from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.ports import Ports
from incremental_assets.core.syncing.foreign_changes import knows_less


def as_last_left(spec: TableSpec, ports: Ports) -> State | None:
    """The state that the last sync left, for whoever holds the lease; None where the next sync has to look at the table first."""
    position = ports.checkpoints.position(spec.id)
    if position.open is not None or position.state is None or position.target is None:
        return None
    target = ports.reader.inspect(spec, position.target.version)
    if target is None or target.foreign or knows_less(position, target):
        return None
    if (target.table_id, target.app_id) != (position.target.table_id, position.app_id):
        return None
    return position.state
