"""What is known of a copy's equality with its source: up to where it was verified, and which windows have drift. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.window import Window, gaps, merge


@dataclass(frozen=True, slots=True)
class Drifted:
    """Rows of the source that the copy lacks or holds differently, all of them in one window."""

    window: Window
    rows: int


@dataclass(frozen=True, slots=True)
class Verified:
    """Results of reconciliations, less what has been read again since."""

    through: str | None
    """Every settled row below it was equal: a cursor value, or the moment at which the table was read whole."""
    drifted: tuple[Drifted, ...] = ()
    reached: str | None = None
    """Every settled row below it but those of `drifted` was equal, in windows without a gap; None where `through` is all that is known."""

    @property
    def drift(self) -> int:
        """Rows known to differ."""
        return sum(piece.rows for piece in self.drifted)

    def read_again(self, window: Window) -> Verified:
        """What is verified after a sync that landed `window`: its drift is forgotten, but what it read was not compared, so `through` stays, and `reached` does unless drift lay there."""
        known = self._of_cursor((window,))
        left = _outside(known.drifted, (window,))
        # Where drift was, nothing is verified until that window is looked at: `through` cannot pass it.
        return Verified(known.through, left, known.reached if left == known.drifted else None)

    def looked_at(self, windows: Sequence[Window], found: Sequence[Drifted]) -> Verified:
        """What is verified after a check of only these windows of an incremental table, which does not affect the others."""
        known = self._of_cursor(windows)
        kept = (*_outside(known.drifted, windows), *found)
        reached = _reached(known.reached or known.through, windows)
        return Verified(_through(reached, kept), kept, None if reached is None else reached.text)

    def outside(self, windows: Sequence[Window]) -> tuple[Drifted, ...]:
        """The drift that is known beside these windows."""
        return _outside(self._of_cursor(windows).drifted, windows)

    def _of_cursor(self, windows: Sequence[Window]) -> Verified:
        """Nothing, if it belongs to a cursor of another type: the copy has been read from its start since."""
        mine, theirs = ({end.type for end in _ends(each)} for each in ([p.window for p in self.drifted], windows))
        return Verified(None) if mine and theirs and mine != theirs else self


def _outside(drifted: Sequence[Drifted], windows: Sequence[Window]) -> tuple[Drifted, ...]:
    """What may still be there: of a piece that was met in part all rows may lie in the rest of it."""
    left = ((piece, gaps(windows, piece.window)) for piece in drifted)
    return tuple(Drifted(Window(rest[0].lower, rest[-1].upper), piece.rows) for piece, rest in left if rest)


def _ends(windows: Sequence[Window]) -> list[CursorValue]:
    return [end for window in windows for end in (window.lower, window.upper) if end is not None]


def _value(text: str | None, windows: Sequence[Window]) -> CursorValue | None:
    """The text as a value of the windows' cursor; None where it is of another one."""
    ends = _ends(windows)
    if text is None or not ends:
        return None
    try:
        return CursorValue.parse(ends[0].type, text)
    except ValueError:
        return None


def _reached(known: str | None, windows: Sequence[Window]) -> CursorValue | None:
    """Higher than before where the windows begin at or below it and go on above."""
    reached = _value(known, windows)
    for window in merge(windows):
        if window.upper is not None and reached is not None and window.contains(reached):
            reached = window.upper
    return reached


def _through(reached: CursorValue | None, drifted: Sequence[Drifted]) -> str | None:
    """No higher than the lowest drift."""
    lowest = [piece.window.lower for piece in drifted]
    if None in lowest or reached is None:
        return None
    return min([reached, *(lower for lower in lowest if lower is not None)]).text
