"""`upsert`: a row replaces the one with its key, so the copy shows each row as in the latest snapshot."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Upsert:
    """Implements `Traits`."""

    overwrites: bool = False
    one_row_per_key: bool = True
    keeps_versions: bool = False
    holds: str = "one row per key, as the latest snapshot showed it"


UPSERT = Upsert()
