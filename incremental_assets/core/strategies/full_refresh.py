"""`full_refresh`: the whole source is read, and replaces the copy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FullRefresh:
    """Implements `Traits`."""

    overwrites: bool = True
    one_row_per_key: bool = False
    keeps_versions: bool = False
    holds: str = "the table as it was when it was last read whole"


FULL_REFRESH = FullRefresh()
