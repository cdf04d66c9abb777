"""The terms under which rows landed: what of the settings of a table changes what its rows mean."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Terms:
    """Strategy, key and cursor under which rows landed; `cursor` is `column:type`, the name of another capture, or empty."""

    strategy: Strategy
    key: tuple[str, ...]
    cursor: str
    fallback: str | None = None
    """The column that stands in where the cursor is NULL, or empty; None: not known, as an earlier release did not keep it."""
    collation: str | None = None
    """How the source compared the key, where it took values for equal that a copy holds differently, or empty; None: it counted for nothing, as an earlier release had it."""
    where: str = ""
    """The condition that rows fulfilled, or empty."""
    target: str = ""
    """Where in the lake the copy was put, or empty."""
    masks: str = ""
    """The masks of its columns, with what tells their key from others, or empty."""
    column_names: str = ""
    """How its columns were named, or empty: as in the source. Another way renames them, and takes nothing from what is true of the rows."""

    def same(self, other: Terms) -> bool:
        """Whether rows that landed under the one are true under the other, as far as is known."""
        return (
            (self.strategy, self.key, self.where, self.target, self.masks)
            == (other.strategy, other.key, other.where, other.target, other.masks)
            and self.same_cursor(other)
            and self.same_collation(other)
        )

    def same_collation(self, other: Terms) -> bool:
        """Whether both take the same keys for equal, as far as is known."""
        return None in (self.collation, other.collation) or self.collation == other.collation

    def same_cursor(self, other: Terms) -> bool:
        """Whether both give every row the same cursor, as far as is known."""
        known = None not in (self.fallback, other.fallback)
        return self.cursor == other.cursor and (not known or self.fallback == other.fallback)
