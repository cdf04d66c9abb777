"""Rows of a quarantine that are held now."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incremental_assets.adapters.delta.direct.files.stored_rows import RowGroup
from incremental_assets.adapters.delta.direct.files.unit import Stored


def open_rows(group: RowGroup, held: Stored, resolved_at: Stored) -> pa.Array:
    """Their places in a row group."""
    is_held, resolved = group.columns([held, resolved_at])
    marked = pc.fill_null(is_held, fill_value=False).to_numpy()
    return pa.array(np.flatnonzero(group.alive & marked & resolved.is_null().to_numpy()), pa.int64())
