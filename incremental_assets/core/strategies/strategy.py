"""The names of the strategies, as configured and stored, and the traits that each has."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Strategy(StrEnum):
    """What the target holds: every version, one row per key, or the source as it is."""

    APPEND = "append"
    UPSERT = "upsert"
    FULL_REFRESH = "full_refresh"


class Traits(Protocol):
    """The traits of a strategy. Code asks for these instead of comparing strategies; docs/architecture.md has what a new one takes."""

    @property
    def overwrites(self) -> bool:
        """Whether each sync replaces the whole copy, and therefore reads the whole source, whatever cursor it has."""

    @property
    def one_row_per_key(self) -> bool:
        """Whether a row replaces the row with its key: it then needs a complete key, which is one of the settings that rows land under."""

    @property
    def keeps_versions(self) -> bool:
        """Whether the copy holds several versions of one key's row, some of which exist nowhere else."""

    @property
    def holds(self) -> str:
        """What people find in the copy."""
