"""The name of a table, wherever it is met."""

from __future__ import annotations

from dataclasses import dataclass, replace

from incremental_assets.core.model.history import SUFFIX


@dataclass(frozen=True, slots=True, order=True)
class TableId:
    """`source.schema.table`, in the source's own spelling."""

    source: str
    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.source}.{self.schema}.{self.name}"

    @property
    def history(self) -> TableId:
        """The table of its rows' versions."""
        return replace(self, name=f"{self.name}{SUFFIX}")
