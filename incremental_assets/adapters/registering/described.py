"""What is said of a copy in a data catalogue: columns with their types in Hive's words, and comments, as the copy's log has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.registration import Described, DescribedColumn, cleaned
from incremental_assets.core.model.table_id import TableId

_SIMPLE = {
    "long": "bigint",
    "integer": "int",
    "short": "smallint",
    "byte": "tinyint",
    # Hive has one type of moments.
    "timestamp_ntz": "timestamp",
}


def described(lake: str, table: TableId) -> Described | None:
    """Of a copy, or of a history; None where there is no table."""
    path = table_path(lake, table)
    log = open_log(path)
    if log is None:
        return None
    return Described(path, tuple(map(_column, log.fields)), log.comment)


def _column(field: Mapping[str, Any]) -> DescribedColumn:
    comment = (field.get("metadata") or {}).get("comment")
    return DescribedColumn(str(field["name"]), hive_type(field["type"]), str(comment or ""))


def hive_type(kind: Any) -> str:
    """A type of a Delta schema in Hive's words. Names in a struct are cleaned, as its type is one text, which they would break."""
    if isinstance(kind, str):
        return _SIMPLE.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{hive_type(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{hive_type(kind['keyType'])},{hive_type(kind['valueType'])}>"
    return f"struct<{','.join(map(_part, kind['fields']))}>"


def _part(field: Mapping[str, Any]) -> str:
    return f"{cleaned(field['name'])}:{hive_type(field['type'])}"
