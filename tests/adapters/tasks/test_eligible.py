"""What a table may have for us to write to it is an exact list; whatever else it has is Spark's to respect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.tasks.eligible import refused_by_batch, refused_by_table, refused_to_mark
from incremental_assets.adapters.delta.writers.choice import Way
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.model.table import Strategy, TableSpec
from tests.core.test_overlap import SPEC, plan_after

UPSERT = replace(SPEC, strategy=Strategy.UPSERT, key=("id",), key_enforced=True)
BATCH = Batch("b", 4, "0")
FEATURES = ("deletionVectors", "timestampNtz", "columnMapping")


def state(
    properties: dict[str, str] | None = None,
    protocol: dict[str, Any] | None = None,
    field: dict[str, Any] | None = None,
    partitions: tuple[str, ...] = (),
) -> LogState:
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": [*FEATURES], "writerFeatures": [*FEATURES, "appendOnly", "invariants"]}
    column = {"name": "id", "type": "long", "nullable": True, "metadata": {"comment": "the id"}}
    metadata = {
        "schemaString": json.dumps({"type": "struct", "fields": [column | (field or {})]}),
        "partitionColumns": list(partitions),
        "configuration": {"delta.enableDeletionVectors": "true", "incremental_assets.app_id": "a"} | (properties or {}),
    }
    return LogState(1, protocol=versions | features | (protocol or {}), metadata=metadata)


def widened(was: str, now: str) -> LogState:
    """A table whose column was of another type when some of its files were written."""
    changes = {"delta.typeChanges": [{"fromType": was, "toType": now}]}
    features = [*FEATURES, "typeWidening"]
    return state(
        {"delta.enableTypeWidening": "true"},
        {"readerFeatures": features, "writerFeatures": features},
        {"type": now, "metadata": changes},
    )


@pytest.mark.parametrize(
    "found",
    [
        state(),
        state({"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}),
        state({"delta.appendOnly": "false", "delta.enableChangeDataFeed": "False"}),
        state({"delta.dataSkippingStatsColumns": "`id`", "delta.checkpointInterval": "5", "somebody.else": "x"}),
        widened("integer", "long"),
        widened("float", "double"),
        widened("decimal(8,2)", "decimal(12,3)"),
    ],
)
def test_tables_that_we_write_to(found: LogState) -> None:
    assert refused_by_table(found) == ""


@pytest.mark.parametrize(("value", "marks"), [("true", True), ("TRUE", True), ("false", False), (None, False)])
def test_rows_are_marked_in_their_files_where_the_table_says_so(value: str | None, marks: bool) -> None:
    found = state()
    found.metadata["configuration"] = {} if value is None else {"delta.enableDeletionVectors": value}
    assert refused_by_table(found) == ""
    assert refused_to_mark(found) == ("" if marks else "deletion vectors are off")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (state(protocol={"minReaderVersion": 2, "minWriterVersion": 5}), "no features"),
        (state(protocol={"minWriterVersion": 8}), "no features"),
        (state(protocol={"writerFeatures": [*FEATURES, "rowTracking"]}), "rowTracking"),
        (state(protocol={"readerFeatures": [*FEATURES, "v2Checkpoint"]}), "v2Checkpoint"),
        (state(protocol={"writerFeatures": [*FEATURES, "ofALaterRelease"]}), "ofALaterRelease"),
        (state(partitions=("id",)), "partitioned"),
        (state({"delta.appendOnly": "true"}), "delta.appendOnly"),
        (state({"delta.enableChangeDataFeed": "TRUE"}), "delta.enableChangeDataFeed"),
        (state({"delta.constraints.c": "id > 0"}), "delta.constraints.c"),
        (state({"delta.checkpoint.writeStatsAsJson": "false"}), "writeStatsAsJson"),
        (state({"delta.ofALaterRelease": "1"}), "delta.ofALaterRelease"),
        (state({"delta.columnMapping.mode": "id"}), "numbers alone"),
        (state(field={"nullable": False}), "must not be NULL"),
        (state(field={"metadata": {"delta.generationExpression": "1"}}), "delta.generationExpression"),
        (state(field={"metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}}), "__CHAR_VARCHAR_TYPE_STRING"),
        (state(field={"metadata": {"delta.invariants": "{}"}}), "delta.invariants"),
        (widened("date", "timestamp_ntz"), "another kind of value"),
        (widened("integer", "decimal(12,2)"), "another kind of value"),
        (widened("integer", "double"), "another kind of value"),
        (LogState(0), "no features"),
    ],
)
def test_tables_that_are_sparks(found: LogState, why: str) -> None:
    assert why in refused_by_table(found)


def keyed(kind: str) -> TableSpec:
    columns = tuple(replace(each, spark_type=kind) if each.name == "id" else each for each in UPSERT.columns)
    return replace(UPSERT, shape=replace(UPSERT.shape, columns=columns))


@pytest.mark.parametrize(
    ("spec", "batch", "chosen", "why"),
    [
        (UPSERT, BATCH, Way.REPLACE, ""),
        (UPSERT, Batch("b", 10**7, "0"), Way.REPLACE, ""),
        (UPSERT, Batch("b", 10**8, "0"), Way.REPLACE, "more than tasks take"),
        (UPSERT, Batch("b", 10**7, "0"), Way.MERGE, "more than tasks take"),
        (SPEC, Batch("b", 10**7, "0"), Way.APPEND, "more than tasks take"),
        (UPSERT, Batch("b", 10**7, "0", in_target=True), Way.PLACE, ""),
        (replace(UPSERT, key_enforced=False), BATCH, Way.REPLACE, "may repeat"),
        (replace(UPSERT, key_enforced=False), BATCH, Way.OVERWRITE, ""),
        (replace(UPSERT, key_enforced=False), replace(BATCH, duplicates=1), Way.OVERWRITE, "may repeat"),
        (keyed("double"), BATCH, Way.REPLACE, "a float"),
    ],
    ids=str,
)
def test_batches(spec: TableSpec, batch: Batch, chosen: Way, why: str) -> None:
    found = refused_by_batch(plan_after(1, spec), batch, Difference(), chosen, staged=1000)
    assert why in found
    assert bool(found) is bool(why)


def test_columns_that_change_are_sparks() -> None:
    added = Difference(added=(Column("new", "int", "int", Fidelity.EXACT),))
    assert "columns change" in refused_by_batch(plan_after(1, UPSERT), BATCH, added, Way.REPLACE, staged=1000)


def test_a_batch_that_is_too_wide_for_a_task_is_sparks() -> None:
    assert "more than tasks take" in refused_by_batch(
        plan_after(1, UPSERT), BATCH, Difference(), Way.REPLACE, staged=2**31
    )
