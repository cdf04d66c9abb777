"""What a task is given to gather files: plain values, which the planning of a compaction has without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.tasks.files.unit import Stored


@dataclass(frozen=True, slots=True)
class GatherUnit:
    """Files of a table, as `add` actions, whose rows become one file.

    `columns`: all of the table's; `statistics`: names in the files of those whose ends the log keeps; `order`: of those by which rows are
    sorted, none where they stay in their order.
    """

    table: str
    files: tuple[Mapping[str, Any], ...]
    columns: tuple[Stored, ...]
    statistics: tuple[str, ...]
    order: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The bytes of its files, by which units are spread over tasks."""
        return sum(int(each["size"]) for each in self.files)
