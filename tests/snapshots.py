"""What a plan has read, where no source is asked: the numbers that a snapshot would show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from incremental_assets.core.captures.capture import Read
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """Implements `DatabaseSnapshot`."""

    highest: CursorValue | None
    fingerprint: Fingerprint | None
    due: CursorValue | None
    visible: str
    nulls: int = 0
    waited: timedelta = timedelta()


def as_read(
    rows: int,
    highest: CursorValue | None,
    fingerprint: Fingerprint | None,
    due: CursorValue | None = None,
    visible: str = "",
) -> Read:
    """So many rows, of a snapshot with these numbers."""
    return Read(rows, _Snapshot(highest, fingerprint, due, visible))
