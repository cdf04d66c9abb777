"""An empty table as a commit of our own: the version 0 that Delta's CREATE TABLE would have written, for which Spark's SQL would have to begin."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from incremental_assets.adapters.delta.log import column_mapping, vectors
from incremental_assets.adapters.delta.log.checkpoint import LOG
from incremental_assets.adapters.delta.log.commit_file import ENGINE, put_if_absent
from incremental_assets.adapters.delta.log.protocol import asking_for
from incremental_assets.adapters.delta.log.readable import store_for
from incremental_assets.adapters.spark.arrow_types import unknown_type
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.column import Column

_NAMES = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
"""Types that a schema in the log calls otherwise than SQL does."""


@dataclass(frozen=True, slots=True)
class NewTable:
    """What is made: its columns, those of a sync included."""

    columns: Sequence[Column]
    properties: Mapping[str, str]
    comment: str = ""

    @property
    def is_mapped(self) -> bool:
        """Whether files know its columns by other names."""
        return self.properties.get(column_mapping.MODE) == "name"

    @property
    def has_vectors(self) -> bool:
        """Whether rows may be marked as gone in its files."""
        return self.properties.get(vectors.ENABLED) == "true"


def create(path: str, table: NewTable) -> None:
    """Commit version 0, unless somebody has just done so. Raises NotByTasks where it is Spark's to make, or to refuse."""
    store = store_for(path)
    if why := unknown_type(each.spark_type for each in table.columns):
        raise NotByTasks(why)
    if len({each.name.lower() for each in table.columns}) < len(table.columns):
        raise NotByTasks("two columns have one name")
    store.make_folder(f"{path}/{LOG}")
    if set(store.list_from(path)) - {LOG}:
        raise NotByTasks("other files are in its folder")
    put_if_absent(path, 0, _actions(table))


def _actions(table: NewTable) -> Iterator[Mapping[str, Any]]:
    now = time.time_ns() // 1_000_000
    properties = dict(table.properties) | ({column_mapping.MOST_ID: str(len(table.columns))} if table.is_mapped else {})
    yield {
        "commitInfo": {
            "timestamp": now,
            "operation": "CREATE TABLE",
            "operationParameters": {
                "partitionBy": "[]",
                "clusterBy": "[]",
                "description": table.comment or None,
                "isManaged": "false",
                "properties": json.dumps(properties),
            },
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "operationMetrics": {},
            "engineInfo": ENGINE,
            "txnId": str(uuid.uuid4()),
        }
    }
    described = {"description": table.comment} if table.comment else {}
    schema = {"type": "struct", "fields": [_field(table, number) for number in range(len(table.columns))]}
    yield {
        "metaData": {
            "id": str(uuid.uuid4()),
            **described,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema, ensure_ascii=False),
            "partitionColumns": [],
            "configuration": properties,
            "createdTime": now,
        }
    }
    yield {"protocol": asking_for(list(_features(table)))}


def _features(table: NewTable) -> Iterator[str]:
    if table.has_vectors:
        yield vectors.FEATURE
    if table.is_mapped:
        yield "columnMapping"
    if any(each.spark_type == "timestamp_ntz" for each in table.columns):
        yield "timestampNtz"


def _field(table: NewTable, number: int) -> Mapping[str, Any]:
    column = table.columns[number]
    told: dict[str, Any] = {"comment": column.comment} if column.comment else {}
    if table.is_mapped:
        told |= {column_mapping.ID: number + 1, column_mapping.PHYSICAL: f"col-{uuid.uuid4()}"}
    kind = _NAMES.get(column.spark_type, column.spark_type)
    return {"name": column.name, "type": kind, "nullable": True, "metadata": told}
