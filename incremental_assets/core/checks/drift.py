"""What a reconciliation found."""

from __future__ import annotations

from dataclasses import dataclass, field

from incremental_assets.core.checks.look import Look
from incremental_assets.core.checks.row_by_row import NAMED
from incremental_assets.core.model.verified import Drifted
from incremental_assets.core.model.window import Window


@dataclass(frozen=True, slots=True)
class Drift:
    """What reconciliation found. `rows`: those that the lake lacks or holds differently."""

    detail: str
    rows: int = 0
    through: str | None = None
    """Every settled row below it is in the lake as it is: a cursor value, or the moment at which the table was read whole."""
    reached: str | None = None
    """What `through` is once the drift is repaired; None for a table without a cursor."""
    looked_at: tuple[Window, ...] = ()
    """The windows of an incremental table that were compared, touching ones as one."""
    drifted: tuple[Drifted, ...] = ()
    """All of the rows, by window; those of the windows that are not named lie in the last piece."""
    samples: tuple[str, ...] = ()
    is_expected: bool = False
    """Whether a sync that is not due yet is known to repair all of it."""
    cure: str = ""
    """What to do about it, where another command than for the rest is needed."""
    was_compared: bool = True
    """Whether there was anything to compare; rows that have not settled yet are not."""
    seen: Look | None = field(default=None, repr=False)
    """What it was found by, so that a repair which follows at once need not look again."""
    after: int = field(default=0, repr=False, compare=False)
    """The table's last event before it was looked at."""

    @property
    def checked(self) -> Window | None:
        """The range from the first to the last window that was compared."""
        return Window(self.looked_at[0].lower, self.looked_at[-1].upper) if self.looked_at else None

    @property
    def windows(self) -> tuple[Window, ...]:
        """The drifted windows that are named; none for a table that is read whole."""
        return tuple(piece.window for piece in self.drifted[:NAMED]) if self.looked_at else ()
