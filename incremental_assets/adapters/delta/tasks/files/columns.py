"""A table's columns, as its schema names them and as its files do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.log import column_mapping
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.files.file_statistics import statistics_columns
from incremental_assets.adapters.delta.tasks.files.unit import Marks, Stored
from incremental_assets.adapters.spark.arrow_types import unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import AT, DELETED_AT, RUN_ID, SEQ
from incremental_assets.core.model.schema_drift import sql_type


@dataclass(frozen=True, slots=True)
class Columns:
    """The table's columns, as its schema names them and as its files do."""

    fields: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, state: LogState) -> Columns:
        return cls(tuple(json.loads(state.metadata["schemaString"])["fields"]))

    def stored(self, name: str, kind: str) -> Stored:
        """A column by its name, whatever its case: no table has two that differ by that alone."""
        for field in self.fields:
            if field["name"].lower() == name.lower():
                return Stored(self._physical(field), kind, field["metadata"].get(column_mapping.ID))
        raise NotByTasks(f"the table has no column {name!r}")

    @property
    def types(self) -> tuple[str, ...]:
        """The columns' types as SQL writes them; an empty text for a nested one (array, map, struct)."""
        return tuple(sql_type(kind) if isinstance(kind := field["type"], str) else "" for field in self.fields)

    def all(self) -> tuple[Stored, ...]:
        """Every column. Raises NotByTasks for one of a type that is not known here."""
        if why := unknown_type(self.types):
            raise NotByTasks(why)
        each = zip(self.fields, self.types, strict=True)
        return tuple(self.stored(field["name"], kind) for field, kind in each)

    def marks(self, run_id: str, seq: int) -> Marks:
        """What every row of a commit carries, as of now."""
        own = (self.stored(RUN_ID, "string"), self.stored(SEQ, "bigint"), self.stored(AT, "timestamp"))
        can_flag = any(field["name"] == DELETED_AT for field in self.fields)
        gone = self.stored(DELETED_AT, "timestamp") if can_flag else None
        return Marks(run_id, seq, time.time_ns() // 1000, own, gone)

    def statistics(self, properties: Mapping[str, str]) -> set[str]:
        """Names in the files of the columns whose ends the log keeps."""
        physical = {field["name"]: self._physical(field) for field in self.fields}
        return {physical[name] for name in statistics_columns(properties, tuple(physical))}

    @staticmethod
    def _physical(field: Mapping[str, Any]) -> str:
        return str(field["metadata"].get(column_mapping.PHYSICAL, field["name"]))
