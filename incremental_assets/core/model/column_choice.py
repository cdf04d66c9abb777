"""The choice of a table's columns that are read, as configured."""

from __future__ import annotations

from dataclasses import dataclass

from incremental_assets.core.model.mask import Mask


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """All columns, but for those that are excluded; or, where `include` is given, no others than these."""

    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] | None = None
    masks: tuple[tuple[str, Mask], ...] = ()
    """Those that land masked."""
    excluded_by_default: tuple[str, ...] = ()
    """Excluded in every table of the source that has them, unless the table includes them by name."""

    @property
    def named(self) -> tuple[str, ...]:
        """Columns that the table itself must have."""
        return (*self.exclude, *(self.include or ()), *dict(self.masks))

    def leaves_out(self, name: str) -> bool:
        """Whether a column of this name is not read."""
        if self.include is not None:
            return name not in self.include
        return name in self.exclude or name in self.excluded_by_default


ALL = ColumnChoice()
