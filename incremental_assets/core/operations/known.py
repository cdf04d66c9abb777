"""All that the checkpoint database knows at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from incremental_assets.core.model.look import Looked
from incremental_assets.core.model.pause import Pauses
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.standing import Standing
from incremental_assets.core.operations.tally import Tally


@dataclass(frozen=True, slots=True)
class Known:
    """Of every table that was ever written, and every source that was ever looked at."""

    standings: Mapping[TableId, Standing] = field(default_factory=dict)
    looks: Mapping[str, Looked] = field(default_factory=dict)
    tally: Tally = field(default_factory=Tally)
    changes: Mapping[tuple[TableId, str], int] = field(default_factory=dict)
    """How often columns of each table were changed, by the kind of change."""
    pauses: Pauses = field(default_factory=Pauses)
