"""What a source estimates of a read, without reading."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a source estimates of the rows of one plan. A sync may read fewer: rows that the last one certainly read are left out where the source can tell them."""

    sql: str = ""
    """The SELECT, as the source gets it."""
    rows: int | None = None
    """The rows that its planner expects; None where it does not say."""
    indexes: tuple[str, ...] = ()
    """Those that answer the condition on the cursor."""
    scans: bool = False
    """Whether the planner means to read the table whole, or a part of it that lies by itself."""
    unknown: str = ""
    """What the source does not tell, and why."""


CANNOT_TELL = Estimate(unknown="this database is not asked how it would read the rows")
"""The estimate for a database whose sessions give none."""
