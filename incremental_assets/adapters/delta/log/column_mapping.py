"""How a log says under which names files know the columns of a table, and what it says once a column has another name. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from incremental_assets.adapters.delta.log.protocol import with_feature
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.rename import Rename, name_after

MODE = "delta.columnMapping.mode"
MOST_ID = "delta.columnMapping.maxColumnId"
ID = "delta.columnMapping.id"
PHYSICAL = "delta.columnMapping.physicalName"

FEATURE = "columnMapping"
STATISTICS = "delta.dataSkippingStatsColumns"
SINCE_CURSOR = "incremental_assets.since_cursor"
"""See `TargetColumn`: begins with the name of the cursor's column, and a colon."""

_STRUCT = "struct"
_LISTED = re.compile(r"`((?:[^`]|``)*)`|([^,`]+)")

Action = Mapping[str, Any]


def listed_columns(text: str) -> tuple[str, ...]:
    """The names in a property that lists columns, each quoted where that is needed."""
    return tuple(quoted.replace("``", "`") if quoted else bare.strip() for quoted, bare in _LISTED.findall(text))


def renaming(metadata: Action, protocol: Action, renames: Sequence[Rename]) -> list[Action]:
    """What is to be committed; nothing of a column that is not there, or where another one keeps the name. Raises NotByTasks for columns within columns, which are mapped, too."""
    fields = json.loads(metadata["schemaString"])["fields"]
    names = {field["name"].lower() for field in fields}
    free = names - {each.before.lower() for each in renames}
    renames = [each for each in renames if each.before.lower() in names and each.after.lower() not in free]
    if not renames:
        return []
    properties, said = dict(metadata.get("configuration") or {}), []
    if properties.get(MODE, "none") == "none":
        fields, properties = _mapped(fields, properties)
        said = [{"protocol": with_feature(protocol, FEATURE)}]
    if STATISTICS in properties:
        names_kept = (name_after(renames, name) for name in listed_columns(properties[STATISTICS]))
        properties[STATISTICS] = ",".join("`" + name.replace("`", "``") + "`" for name in names_kept)
    schema = {"type": _STRUCT, "fields": [_renamed(field, renames) for field in fields]}
    text = json.dumps(schema, ensure_ascii=False)
    return [*said, {"metaData": {**metadata, "schemaString": text, "configuration": properties}}]


def _mapped(fields: list[Any], properties: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
    """Files that are there know each column by the name that it has now. A number is never given twice."""
    if any(_STRUCT in json.dumps(field["type"]) for field in fields):
        raise NotByTasks("a column holds columns of its own")
    first = 1 + int(properties.get(MOST_ID, "0"))
    told = [
        {**field, "metadata": {**field["metadata"], ID: number, PHYSICAL: field["name"]}}
        for number, field in enumerate(fields, first)
    ]
    return told, {**properties, MODE: "name", MOST_ID: str(first + len(fields) - 1)}


def _renamed(field: Action, renames: Sequence[Rename]) -> Action:
    told = dict(field["metadata"])
    cursor, separator, rest = told.get(SINCE_CURSOR, "").partition(":")
    if separator:
        told[SINCE_CURSOR] = f"{name_after(renames, cursor)}:{rest}"
    return {**field, "name": name_after(renames, field["name"]), "metadata": told}
