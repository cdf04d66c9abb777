"""A staged batch: the rows to land from one snapshot, and what was counted while they were written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.cursor import CursorValue


class Operation(StrEnum):
    """What a row of a batch does to the copy."""

    PUT = "put"
    """It replaces the row with its key, or is added."""
    GONE = "gone"
    """Its key is removed from a copy that holds one row per key; copies that keep versions keep them."""
    HELD = "held"
    """It breaks its contract and goes to quarantine; a row of its key stays in the copy as it is."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The smallest and the largest whole number that a batch has in one column of its key."""

    column: str
    lowest: int
    highest: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Exactly what one snapshot showed, verified against the source's own count."""

    batch_id: str
    rows: int
    digest: str
    """Order-independent hash of all staged rows, to detect an incomplete batch."""
    lower: CursorValue | None = None
    """The smallest cursor in the batch, None if a row has none: where the overlap with the target begins."""
    rejected: int = 0
    """Rows that cannot land and go to quarantine."""
    held: int = 0
    """Those of them that break their contract, and leave the copy as it is."""
    gone: int = 0
    """Rows that only say that the source no longer has them; rejected rows, which leave the copy too, are not counted."""
    duplicates: int = 0
    """Rows beyond the first of a declared key that is not unique."""
    keys: tuple[KeyRange, ...] = ()
    """The keys of an upsert: no row of the target outside of them is replaced, so those files need not be read."""
    warnings: tuple[str, ...] = ()
    new_columns: tuple[str, ...] = ()
    """The columns beside key and cursor of rows that were read in part; the others are as the target has them. Empty for whole rows."""
    in_target: bool = False
    """Whether the rows are in the target already, without a position: those of a first load."""
    keeps_out: bool = False
    """Whether rows whose keys were erased were looked for, as a list of them is there."""
    by_spark: str = ""
    """Why Spark's own reader or writer made it; empty where tasks did."""

    @property
    def landable(self) -> int:
        """Rows that can land."""
        return self.rows - self.rejected - self.gone - self.duplicates
