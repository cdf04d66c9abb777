"""What a copy does about rows that are gone from the source, where no log tells of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from incremental_assets.core.model.clock_reading import moment


class DeleteMode(StrEnum):
    """How it is known that a row is gone."""

    IGNORE = "ignore"
    """It is not: what landed stays."""
    DIFF = "diff"
    """Keys of the copy are looked for in a later snapshot of the source."""
    SOFT = "soft"
    """The source keeps the row and marks it in a column."""


class Then(StrEnum):
    """What becomes of the row in the copy."""

    REMOVE = "remove"
    MARK = "mark"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Deletes:
    """How a table follows deletes. `every` and `max_fraction` belong to `diff`, `column` and `value` to `soft`."""

    mode: DeleteMode = DeleteMode.IGNORE
    then: Then = Then.REMOVE
    every: timedelta = timedelta(days=1)
    max_fraction: float = 0.2
    """The share of the copy's rows: if more of them are gone, a person decides."""
    column: str = ""
    value: str | None = None
    """What the column holds in a row that is gone, as text; None: anything but NULL."""

    @property
    def compares(self) -> bool:
        """Whether keys are compared."""
        return self.mode is DeleteMode.DIFF

    @property
    def marks(self) -> bool:
        """Whether a row that is gone stays and says so."""
        return self.compares and self.then is Then.MARK

    @property
    def drops_marked(self) -> bool:
        """Whether a row that the source has marked leaves the copy."""
        return self.mode is DeleteMode.SOFT and self.then is Then.REMOVE


IGNORED = Deletes()


@dataclass(frozen=True, slots=True)
class KeysCompared:
    """The last comparison of keys: the source's clock before its snapshot, and where the source kept the rows then."""

    clock: datetime
    storage: tuple[tuple[int, int], ...] = ()
    """Numbers of the source's own tables, and of the files that hold them: another file under the same table means that all of it was rewritten."""

    def rewritten(self, storage: tuple[tuple[int, int], ...]) -> bool:
        """Whether a table that was there then has other files now, as TRUNCATE leaves it."""
        now = dict(storage)
        return any(now.get(table, file) != file for table, file in self.storage)

    def to_json(self) -> dict[str, Any]:
        """The comparison as a part of a state's document."""
        return {"clock": self.clock.isoformat(), "storage": [list(each) for each in self.storage]}

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> KeysCompared:
        """Read it back."""
        return cls(moment(kept["clock"]), tuple((table, file) for table, file in kept["storage"]))
