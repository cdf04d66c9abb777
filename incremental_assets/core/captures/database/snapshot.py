"""What a snapshot of a database shows beside its rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Protocol, cast

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.fingerprint import Fingerprint


class DatabaseSnapshot(Protocol):
    """The numbers that the source counts in a snapshot, for the reading of one plan."""

    @property
    def nulls(self) -> int:
        """Rows of the table without a cursor."""

    @property
    def highest(self) -> CursorValue | None:
        """The largest cursor in the window."""

    @property
    def due(self) -> CursorValue | None:
        """The smallest cursor past the source's clock, where such rows go to quarantine."""

    @property
    def waited(self) -> timedelta:
        """How long after the bound's clock it had been taken, by the clocks of our own machine; none where these are not known."""

    @property
    def visible(self) -> str:
        """The transactions that it shows, in the source's own format; empty if the source does not say."""

    @property
    def fingerprint(self) -> Fingerprint | None:
        """The fingerprint of what the next sync would read."""


def shown_by(snapshot: object) -> DatabaseSnapshot:
    """The numbers of a snapshot that was opened for a `DatabaseReading`: only a source that is a database opens one."""
    return cast(DatabaseSnapshot, snapshot)
