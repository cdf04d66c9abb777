"""An empty table of our making is the one that Delta would have made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from incremental_assets.adapters.delta import target_table
from incremental_assets.adapters.delta.log import vectors
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.core.model.column import Column, Fidelity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROPERTIES = {"incremental_assets.app_id": "an app", target_table.STATISTICS: "`id`"}


def column(name: str, kind: str, comment: str = "") -> Column:
    return Column(name, kind, kind, Fidelity.EXACT, comment=comment)


PLAIN = (
    column("id", "bigint", "the 'key'"),
    *(
        column(f"a {kind}".replace(" ", "_"), kind)
        for kind in ("tinyint", "smallint", "int", "float", "double", "boolean")
    ),
    *(column(f"a_{kind}", kind) for kind in ("string", "binary", "date", "timestamp")),
    column("amount", "decimal(15,2)"),
    column('größe."`$\\', "decimal(38,0)"),
)


def refusing(*_: object) -> None:
    raise NotByTasks("this one is Spark's")


def first_commit(path: Path) -> Mapping[str, Any]:
    (path / "_delta_log" / "00000000000000000000.json").stat()
    text = (path / "_delta_log" / "00000000000000000000.json").read_text(encoding="utf-8")
    return {name: value for line in text.splitlines() for name, value in json.loads(line).items()}


def told(path: Path) -> Mapping[str, Any]:
    """What the first commit says but for names that are drawn and times."""
    said = first_commit(path)
    metadata = dict(said["metaData"])
    assert metadata.pop("id")
    assert metadata.pop("createdTime") > 0
    schema = json.loads(metadata.pop("schemaString"))
    for field in schema["fields"]:
        if (drawn := field["metadata"].get("delta.columnMapping.physicalName")) is not None:
            assert drawn.startswith("col-"), drawn
            field["metadata"]["delta.columnMapping.physicalName"] = "col-"
    features = {name: sorted(value) if isinstance(value, list) else value for name, value in said["protocol"].items()}
    return {"metadata": metadata, "schema": schema, "protocol": features, "operation": said["commitInfo"]["operation"]}


ZONELESS = (column("id", "bigint"), column("seen", "timestamp_ntz"))
AWKWARD = (column("id", "bigint"), column("a b;{}()=", "string", "awkward"))


@pytest.mark.parametrize(
    ("columns", "comment", "more"),
    [
        pytest.param(PLAIN, "all 'that' was\nordered", vectors.ON, id="every type, and comments"),
        pytest.param(PLAIN, "", {}, id="every type, for any reader"),
        pytest.param(ZONELESS, "", vectors.ON, id="a time without a zone"),
        pytest.param(ZONELESS, "", {}, id="a time without a zone, without vectors"),
        pytest.param(AWKWARD, "", vectors.ON, id="a name that needs mapping"),
    ],
)
def test_protocol_schema_and_properties_are_those_that_delta_writes(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    columns: tuple[Column, ...],
    comment: str,
    more: Mapping[str, str],
) -> None:
    by_spark, ours, properties = tmp_path / "spark", tmp_path / "ours", {**PROPERTIES, **more}
    monkeypatch.setattr(target_table.new_table, "create", refusing)
    target_table.create(spark, str(by_spark), columns, properties, comment)
    monkeypatch.undo()
    target_table.create(spark, str(ours), columns, properties, comment)
    assert first_commit(ours)["commitInfo"]["engineInfo"].startswith("incremental-assets/")
    assert first_commit(by_spark)["commitInfo"]["engineInfo"].startswith("Apache-Spark/")
    assert told(ours) == told(by_spark)
    read = spark.read.format("delta").load(str(ours))
    assert read.schema == spark.read.format("delta").load(str(by_spark)).schema
    assert read.count() == 0
