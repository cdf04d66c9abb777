"""Rows of a quarantine that nothing has resolved."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.tasks.files.staged_rows import Flags
from incremental_assets.adapters.delta.tasks.files.stored_rows import RowGroup
from incremental_assets.adapters.delta.tasks.files.unit import Stored


def open_rows(group: RowGroup, held: Stored, resolved_at: Stored) -> pa.Array:
    """Places in a row group of those that a contract holds."""
    return pa.array(np.flatnonzero(_unresolved(group, resolved_at) & is_held(group, held)), pa.int64())


def waiting_rows(group: RowGroup, resolved_at: Stored) -> pa.Array:
    """Places in a row group of all of them: of those that a contract holds, and of those that cannot land."""
    return pa.array(np.flatnonzero(_unresolved(group, resolved_at)), pa.int64())


def is_held(group: RowGroup, held: Stored) -> Flags:
    """Whether a contract held each row."""
    found: Flags = pc.fill_null(group.columns([held])[0], fill_value=False).to_numpy()
    return found


def _unresolved(group: RowGroup, resolved_at: Stored) -> Flags:
    found: Flags = group.alive & group.columns([resolved_at])[0].is_null().to_numpy()
    return found
