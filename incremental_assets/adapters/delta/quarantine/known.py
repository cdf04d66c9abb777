"""The columns of a table, looked up by name and by the type that they are expected to have."""

from __future__ import annotations

from collections.abc import Sequence

from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.files.columns import Columns
from incremental_assets.adapters.delta.tasks.files.unit import Stored
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks


class Known:
    """The columns of a table, given out only where they are of the type that is expected."""

    def __init__(self, state: LogState) -> None:
        self.table = Columns.of(state)

    def has(self, name: str) -> bool:
        """Whether the table has a column of this name."""
        return any(field["name"].lower() == name.lower() for field in self.table.fields)

    def column(self, name: str, kind: str) -> Stored:
        """Raises NotByTasks where it is not there, or is of another type."""
        found = self.table.stored(name, kind)
        there = zip(self.table.fields, self.table.types, strict=True)
        if kind not in {its for field, its in there if field["name"].lower() == name.lower()}:
            raise NotByTasks(f"the column {name!r} is of another type")
        return found

    def columns(self, names: Sequence[str], kind: str) -> list[Stored]:
        """Several of one type."""
        return [self.column(name, kind) for name in names]
