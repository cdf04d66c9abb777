"""What a person has paused: a table, or a source with every table that it has or will have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from incremental_assets.core.model.table_id import TableId


@dataclass(frozen=True, slots=True)
class Pause:
    """`table` None: the whole source. `since` is on the clock of the checkpoint database."""

    source: str
    table: TableId | None
    by: str
    reason: str
    since: datetime

    @property
    def what(self) -> str:
        """Its name, as `pause` and `resume` take it."""
        return self.source if self.table is None else str(self.table)

    @property
    def sentence(self) -> str:
        """Since when, by whom and why."""
        of = f" with the whole source {self.source}" if self.table is None else ""
        return f"paused{of} since {self.since:%Y-%m-%d %H:%M}Z by {self.by}: {self.reason}"


class Pauses:
    """All that is paused at one moment."""

    def __init__(self, pauses: Iterable[Pause] = ()) -> None:
        self.all = tuple(sorted(pauses, key=lambda each: each.what))
        self._tables = {each.table: each for each in self.all if each.table is not None}
        self._sources = {each.source: each for each in self.all if each.table is None}

    def of(self, table: TableId) -> Pause | None:
        """Why a table stands still; of its source, where both are paused."""
        return self._sources.get(table.source) or self._tables.get(table)

    def of_source(self, source: str) -> Pause | None:
        """Why a whole source does."""
        return self._sources.get(source)
