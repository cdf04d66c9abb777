"""Half-open windows `[lower, upper)` on a cursor: clamp, merge, gaps, split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from incremental_assets.core.model.cursor import CursorType, CursorValue


@dataclass(frozen=True, slots=True)
class Window:
    """`[lower, upper)`; None is open: from the beginning, or to whatever the snapshot shows."""

    lower: CursorValue | None
    upper: CursorValue | None

    def __post_init__(self) -> None:
        if self.lower is not None and self.upper is not None and self.upper < self.lower:
            raise ValueError(f"a window ends before it begins: [{self.lower}, {self.upper})")

    @property
    def is_empty(self) -> bool:
        """Whether no value can lie in it."""
        return self.lower is not None and self.lower == self.upper

    def clamp_upper(self, limit: CursorValue | None) -> Window:
        """This window cut off at `limit`; None does not cut."""
        if limit is None or (self.upper is not None and self.upper <= limit):
            return self
        if self.lower is not None and limit < self.lower:
            return Window(self.lower, self.lower)
        return Window(self.lower, limit)

    def contains(self, value: CursorValue) -> bool:
        """Whether `lower <= value < upper`."""
        return (self.lower is None or self.lower <= value) and (self.upper is None or value < self.upper)

    def __str__(self) -> str:
        return f"[{self.lower or '…'}, {self.upper or '…'})"


EVERYTHING = Window(None, None)
"""Whatever there is."""


def merge(windows: Iterable[Window]) -> tuple[Window, ...]:
    """The same coverage in as few windows as possible, ascending; touching windows become one."""
    merged: list[Window] = []
    for window in sorted((w for w in windows if not w.is_empty), key=_by_lower):
        last = merged[-1] if merged else None
        if last is None or _ends_before(last, window):
            merged.append(window)
        elif last.upper is not None and (window.upper is None or last.upper < window.upper):
            merged[-1] = Window(last.lower, window.upper)
    return tuple(merged)


def gaps(covered: Iterable[Window], wanted: Window) -> tuple[Window, ...]:
    """The parts of `wanted` that no window of `covered` reaches, ascending."""
    missing: list[Window] = []
    lower = wanted.lower
    for window in merge(covered):
        if window.upper is not None and lower is not None and window.upper <= lower:
            continue
        if wanted.upper is not None and window.lower is not None and wanted.upper <= window.lower:
            break
        if window.lower is not None and (lower is None or lower < window.lower):
            missing.append(Window(lower, window.lower))
        if window.upper is None:
            return tuple(missing)
        lower = window.upper
    rest = Window(lower, wanted.upper) if wanted.upper is None or lower is None or lower <= wanted.upper else None
    return (*missing, rest) if rest is not None and not rest.is_empty else tuple(missing)


def disjoint(windows: Sequence[Window]) -> bool:
    """Whether no value lies in two of them and they come in order, so that one scan can tell them apart."""
    return all(
        first.upper is not None and second.lower is not None and first.upper <= second.lower
        for first, second in pairwise(windows)
    )


def _by_lower(window: Window) -> tuple[int, CursorValue]:
    # Open windows come first; the placeholder only ever meets another placeholder.
    return (0, CursorValue(CursorType.INTEGER, "0")) if window.lower is None else (1, window.lower)


def _ends_before(first: Window, second: Window) -> bool:
    return first.upper is not None and second.lower is not None and first.upper < second.lower


def cut(windows: Sequence[Window], by: Sequence[Window]) -> tuple[Window, ...]:
    """The parts of `windows` that lie within one of `by`, in the order of `by`'s pieces."""
    parts: list[Window] = []
    for piece in by:
        for window in windows:
            lower = (
                window.lower
                if piece.lower is None or (window.lower is not None and piece.lower < window.lower)
                else piece.lower
            )
            limited = window.clamp_upper(piece.upper)
            if limited.upper is not None and lower is not None and limited.upper <= lower:
                continue
            parts.append(Window(lower, limited.upper))
    return tuple(parts)
