"""Columns that a table is given behind those that it has: what a commit says of them, which is NULL in all rows that are there."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from incremental_assets.adapters.delta.log import column_mapping, log_cache
from incremental_assets.adapters.delta.log.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.protocol import with_feature
from incremental_assets.adapters.spark.arrow_types import unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.errors import Overtaken
from incremental_assets.core.model.schema_drift import delta_type

_ZONELESS = "timestampNtz"

Action = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AddedColumn:
    """One of them. `type`: in SQL's words; `metadata`: what its field says besides."""

    name: str
    type: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


def with_added(state: LogState, columns: Sequence[AddedColumn]) -> tuple[LogState, list[Action]]:
    """The table with them, and the actions by which it gets them. Raises NotByTasks for types that are not known here. Pure."""
    if why := unknown_type(each.type for each in columns):
        raise NotByTasks(why)
    schema, properties = json.loads(state.metadata["schemaString"]), dict(state.properties)
    fields = [_field(each) for each in columns]
    if properties.get(column_mapping.MODE, "none") != "none":
        first = 1 + int(properties.get(column_mapping.MOST_ID, "0"))
        fields = [_mapped(each, number) for number, each in enumerate(fields, first)]
        properties[column_mapping.MOST_ID] = str(first + len(fields) - 1)
    text = json.dumps({**schema, "fields": [*schema["fields"], *fields]}, ensure_ascii=False)
    metadata = {**state.metadata, "schemaString": text, "configuration": properties}
    protocol = state.protocol
    if any(each.type == "timestamp_ntz" for each in columns):
        protocol = with_feature(protocol, _ZONELESS)
    said: list[Action] = [{"metaData": metadata}]
    if protocol != state.protocol:
        said.insert(0, {"protocol": protocol})
    return replace(state, metadata=metadata, protocol=protocol), said


def add(path: str, columns: Sequence[AddedColumn]) -> None:
    """The same as a commit of its own, which leaves every row as it is. Raises NotByTasks, Overtaken."""
    seen = log_cache.latest(path)
    if seen is None:
        raise NotByTasks("there is no table")
    _, said = with_added(seen.state, columns)
    info = {
        "timestamp": time.time_ns() // 1_000_000,
        "operation": "ADD COLUMNS",
        "operationParameters": {"columns": json.dumps([each.name for each in columns])},
        "engineInfo": ENGINE,
        "txnId": str(uuid.uuid4()),
    }
    if not put_if_absent(path, seen.state.version + 1, [{"commitInfo": info}, *said]):
        raise Overtaken(f"{path}: another writer changed this table while it was given columns; run the sync again")


def _field(column: AddedColumn) -> dict[str, Any]:
    return {"name": column.name, "type": delta_type(column.type), "nullable": True, "metadata": dict(column.metadata)}


def _mapped(described: Action, number: int) -> dict[str, Any]:
    told = {column_mapping.ID: number, column_mapping.PHYSICAL: f"col-{uuid.uuid4()}"}
    return {**described, "metadata": {**described["metadata"], **told}}
