"""What is said of a copy: the columns of its log, with nested types in Hive's words, and comments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from deltalake import DeltaTable, Field, Schema

from incremental_assets.adapters.registering.described import described, hive_type
from incremental_assets.core.model.paths import table_path
from incremental_assets.core.model.registration import DescribedColumn
from incremental_assets.core.model.table_id import TableId

ORDERS = TableId("shop", "public", "orders")


def test_columns_types_and_comments_come_from_the_log(tmp_path: Path) -> None:
    path = table_path(str(tmp_path), ORDERS)
    fields = [
        Field("id", "long", metadata={"comment": "its number"}),
        Field("price", "decimal(10,2)"),
        Field("at", "timestamp"),
        Field("_sync_seq", "long"),
    ]
    DeltaTable.create(path, Schema(fields), description="What people ordered")
    found = described(str(tmp_path), ORDERS)
    assert found is not None
    assert (found.location, found.comment) == (path, "What people ordered")
    assert found.columns == (
        DescribedColumn("id", "bigint", "its number"),
        DescribedColumn("price", "decimal(10,2)"),
        DescribedColumn("at", "timestamp"),
        DescribedColumn("_sync_seq", "bigint"),
    )


def test_of_a_table_that_is_not_there_nothing_is_said(tmp_path: Path) -> None:
    assert described(str(tmp_path), ORDERS) is None


NESTED = {
    "type": "struct",
    "fields": [
        {"name": "First Name", "type": "string", "nullable": True, "metadata": {}},
        {
            "name": "lines",
            "type": {"type": "array", "elementType": {"type": "map", "keyType": "string", "valueType": "short"}},
            "nullable": True,
            "metadata": {},
        },
    ],
}
TYPES = [
    *((simple, simple) for simple in ("string", "date", "boolean", "double", "float", "binary", "decimal(38,10)")),
    ("long", "bigint"),
    ("integer", "int"),
    ("byte", "tinyint"),
    ("timestamp_ntz", "timestamp"),
    (json.dumps(NESTED), "struct<first_name:string,lines:array<map<string,smallint>>>"),
]


@pytest.mark.parametrize(("delta", "hive"), TYPES)
def test_each_type_is_one_of_hives(delta: str, hive: str) -> None:
    assert hive_type(json.loads(delta) if delta.startswith("{") else delta) == hive
