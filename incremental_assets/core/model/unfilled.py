"""Columns of a copy that came after its rows: how far the values of these rows have been read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from incremental_assets.core.model.cursor import CursorValue, dump_value, load_value
from incremental_assets.core.model.window import Window


@dataclass(frozen=True, slots=True)
class Unfilled:
    """Rows from `reached` on (None: from the lowest) lack the values of `columns`, up to `below`, from where on rows were read with them (None: all lack them)."""

    columns: tuple[str, ...]
    below: CursorValue | None
    reached: CursorValue | None = None

    @property
    def window(self) -> Window:
        """What is left to be read."""
        return Window(self.reached, self.below)

    def after(self, read: Window) -> Unfilled | None:
        """What is left once a range has been read."""
        done = read.upper is None or (self.below is not None and self.below <= read.upper)
        return None if done else replace(self, reached=read.upper)

    def joined(self, columns: tuple[str, ...], below: CursorValue | None, lowest: CursorValue | None) -> Unfilled:
        """With more columns, which rows below `below` (None: all rows) lack as well: the ranges begin again at `lowest`, and end at the higher of both ends."""
        ends = None if None in (self.below, below) else max(end for end in (self.below, below) if end is not None)
        return Unfilled(tuple(dict.fromkeys((*self.columns, *columns))), ends, lowest)

    def to_json(self) -> dict[str, Any]:
        """A document."""
        return {
            "columns": list(self.columns),
            "below": dump_value(self.below),
            "reached": dump_value(self.reached),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Unfilled:
        """Read it back."""
        return cls(tuple(document["columns"]), load_value(document["below"]), load_value(document["reached"]))
