"""The result of a check, as values; `core/checks` decides it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window


class Severity(StrEnum):
    """What a failed reconciliation is."""

    WARN = "warn"
    ERROR = "error"


class Check(StrEnum):
    """What is checked of a table that has landed."""

    FRESHNESS = "freshness"
    DUPLICATES = "duplicates"
    RECONCILIATION = "reconciliation"
    SCHEMA = "schema"
    CONTRACT = "contract"
    CURRENT = "current"
    """A check of a history: its current versions are the rows of the copy."""
    OVERLAP = "overlap"
    """A check of a history: the versions of a key follow each other."""

    @property
    def is_of_history(self) -> bool:
        """Whether it is asked of the history beside the copy."""
        return self in (Check.CURRENT, Check.OVERLAP)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One result. `measured` and `threshold` are seconds for freshness and counts for the rest; None if nothing could be measured."""

    table: TableId
    check: Check
    passed: bool
    severity: Severity
    detail: str
    """The result in one sentence."""
    cure: str = ""
    """What to do, in one sentence with a command; empty where the check has passed, and where `detail` says it."""
    measured: float | None = None
    threshold: float | None = None
    window: Window | None = None
    """The checked window, if it is not the whole table."""
    drifted: tuple[Window, ...] = ()
    samples: tuple[str, ...] = ()
    """At most ten keys; hashed where the table's key is personal."""
    by_hash: bool = False
    """Whether the samples are hashes of rows, as the table has no key."""
    quarantined: int | None = None
    """Rows of the source that are in quarantine, and that no comparison counts; None where the check does not look."""
    was_checked: bool = True
    """False where there is nothing yet that could be checked; it has not passed."""
