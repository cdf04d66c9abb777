"""Decides in which ranges of the cursor new columns are read, so that none is much larger than it need be. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.core.model.cursor import CursorType, CursorValue, Span
from incremental_assets.core.model.window import Window

MOST_ROWS = 500_000
"""The most rows of one range, unless a single slice has more."""
MOST_RANGES = 8
"""The most ranges of one sync; the next goes on."""
_SLICES = 256


def slices(left: Window, lowest: CursorValue, highest: CursorValue) -> tuple[Window, ...]:
    """Pieces of `left` that are equally wide between the two values; one where Python cannot count with these."""
    lower = lowest if left.lower is None else max(lowest, left.lower)
    upper = highest if left.upper is None else min(highest, left.upper)
    ends = dict.fromkeys(end for end in _ends(lower, upper) if lower < end < upper)
    found, begin = [], left.lower
    for end in ends:
        found.append(Window(begin, end))
        begin = end
    return (*found, Window(begin, left.upper))


def ranges(pieces: Sequence[Window], rows: Sequence[int]) -> tuple[Window, ...]:
    """Neighbours put together while they hold few enough rows; of them as many as one sync reads."""
    found: list[Window] = []
    held = 0
    for piece, here in zip(pieces, rows, strict=True):
        if found and held + here <= MOST_ROWS:
            found[-1], held = Window(found[-1].lower, piece.upper), held + here
        else:
            found.append(piece)
            held = here
    return tuple(found[:MOST_RANGES])


def _ends(lower: CursorValue, upper: CursorValue) -> Sequence[CursorValue]:
    try:
        steps: list[Span]
        if lower.type is CursorType.INTEGER:
            wide = int(upper.text) - int(lower.text)
            steps = [wide * left // _SLICES for left in range(_SLICES - 1, 0, -1)]
        else:
            span = upper.moment() - lower.moment()
            steps = [span * left // _SLICES for left in range(_SLICES - 1, 0, -1)]
        return [upper.minus(step) for step in steps]
    except (ValueError, OverflowError):
        return ()
