"""`append`: rows are added and never changed, so the copy keeps every version that a sync saw."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Append:
    """Implements `Traits`."""

    overwrites: bool = False
    one_row_per_key: bool = False
    keeps_versions: bool = True
    holds: str = "every version of every row that a sync saw"


APPEND = Append()
