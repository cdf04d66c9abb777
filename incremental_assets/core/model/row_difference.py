"""A row that a copy and its source do not show alike, value by value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incremental_assets.core.model.table import TableSpec

HIDDEN = "(pii)"
"""What stands for a value of a column that is declared `pii`."""

Values = tuple[str | None, ...]
"""The values of a row as people read them, by the columns of its table; None for NULL."""


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One row of either side, or one of each that have the same key; None where a side has none."""

    source: Values | None
    copy: Values | None
    is_newer: bool = False
    """Whether the source has changed the row since it was read, which is no drift: the next sync brings it."""

    @property
    def values(self) -> Values:
        """Those of a side that has the row, the source's where both have."""
        found = self.source if self.source is not None else self.copy
        if found is None:
            raise ValueError("a row of neither side")
        return found

    def places(self) -> tuple[int, ...]:
        """Which columns differ, by their places; all of a row that one side lacks."""
        if self.source is None or self.copy is None:
            return tuple(range(len(self.values)))
        pairs = enumerate(zip(self.source, self.copy, strict=True))
        return tuple(place for place, (there, here) in pairs if there != here)


def without_pii(spec: TableSpec, row: RowDifference) -> RowDifference:
    """The same with no value of a column that is declared `pii`, but for which of them differ."""
    personal = set(spec.personal)
    if not personal:
        return row
    hidden = [column.name in personal for column in spec.columns]
    differ = set(row.places())

    def shown(values: Values | None, side: str) -> Values | None:
        if values is None:
            return None
        both = row.source is not None and row.copy is not None
        return tuple(
            (f"{HIDDEN} {side}" if both and place in differ else HIDDEN) if is_hidden and value is not None else value
            for place, (value, is_hidden) in enumerate(zip(values, hidden, strict=True))
        )

    return replace(row, source=shown(row.source, "of the source"), copy=shown(row.copy, "of the copy"))
