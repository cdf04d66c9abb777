"""Decides which commits we may write ourselves: by an exact list of what a table can have, and by what a batch asks for. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from incremental_assets.adapters.delta.log import column_mapping, protocol, vectors
from incremental_assets.adapters.delta.log.log_state import LogState
from incremental_assets.adapters.delta.log.transaction_log import SINCE
from incremental_assets.adapters.delta.writers.choice import Way
from incremental_assets.adapters.spark.arrow_types import FLOATING, unknown_type
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.planning.plan import SyncPlan

MOST_ROWS = 4_000_000
"""The most rows of a batch that one task holds as a whole, and the bytes of it as it is staged; above, Spark's own writer spills to disk what it cannot hold."""
MOST_BYTES = 64 * 1024**2
SHARED = 16
"""How many times as much may be in a batch that tasks share: of their rows they hold the key, the cursor, and one row group at a time."""
_SHARED = (Way.REPLACE, Way.OVERWRITE)
"""The ways in which no task needs more of a batch than its share."""

_READER_FEATURES = frozenset({"deletionVectors", "timestampNtz", "columnMapping", "typeWidening"})
_WRITER_FEATURES = _READER_FEATURES | {"appendOnly", "invariants"}
"""What a table may have; the last two ask nothing as long as no property and no column makes use of them, which is looked up below."""
_PROPERTIES = frozenset(
    {
        vectors.ENABLED, column_mapping.MODE, "delta.enableTypeWidening", column_mapping.MOST_ID, "delta.autoOptimize.autoCompact", "delta.autoOptimize.optimizeWrite",
        "delta.checkpoint.writeStatsAsStruct", "delta.checkpointInterval", "delta.checkpointRetentionDuration", "delta.dataSkippingNumIndexedCols",
        "delta.dataSkippingStatsColumns", "delta.deletedFileRetentionDuration", "delta.enableExpiredLogCleanup", "delta.isolationLevel",
        "delta.logRetentionDuration", "delta.minReaderVersion", "delta.minWriterVersion", "delta.sampleRetentionDuration",
        "delta.setTransactionRetentionDuration", "delta.targetFileSize", "delta.tuneFileSizesForRewrites",
    }
)  # fmt: skip
"""Delta's properties that ask nothing of a writer of rows, or nothing that is not done here."""
_SWITCHES = ("delta.appendOnly", "delta.enable")
"""Those that ask nothing while they are off begin so."""
_TYPE_CHANGES = "delta.typeChanges"
_OF_COLUMNS = frozenset(
    {"comment", _TYPE_CHANGES, SINCE, column_mapping.SINCE_CURSOR, column_mapping.ID, column_mapping.PHYSICAL}
)
"""What a column may carry; whatever else there is makes it a generated one, a padded one, one with a default or a rule."""


def refused_by_table(state: LogState) -> str:
    """Why a commit to this table is Spark's; empty where we may write it."""
    found = state.protocol
    if not protocol.names_features(found):
        return "its protocol names no features"
    features = {*protocol.of_readers(found)} - _READER_FEATURES
    features |= {*(found.get("writerFeatures") or ())} - _WRITER_FEATURES
    if features:
        return f"the table has {', '.join(sorted(features))}"
    if state.metadata.get("partitionColumns"):
        return "the table is partitioned"
    properties = state.properties
    named = [name for name, value in properties.items() if not _is_harmless(name, value)]
    if named:
        return f"the table has {', '.join(sorted(named))}"
    if properties.get(column_mapping.MODE, "none") not in ("none", "name"):
        return "columns are mapped by their numbers alone"
    return _refused_by_columns(json.loads(state.metadata.get("schemaString") or '{"fields": []}')["fields"])


def refused_to_mark(state: LogState) -> str:
    """Why no row may be marked as gone in its file; empty where one may."""
    return "" if vectors.marks_rows(state.properties) else "deletion vectors are off"


def refused_to_read(state: LogState) -> str:
    """Why rows of this table are read by Spark alone; empty where we may read them."""
    more = {*protocol.of_readers(state.protocol)} - _READER_FEATURES
    if more or state.properties.get(column_mapping.MODE, "none") not in ("none", "name"):
        return f"the table has {', '.join(sorted(more)) or 'columns that are mapped by their numbers alone'}"
    return "the table is partitioned" if state.metadata.get("partitionColumns") else ""


def refused_by_batch(plan: SyncPlan, batch: Batch, changes: Difference, way: Way, staged: int) -> str:
    """Why a batch of so many staged bytes lands by Spark; empty where it may land in tasks."""
    if changes:
        return "the columns change"
    if batch.in_target:
        return ""
    if batch.new_columns:
        return "it holds new columns alone"
    # What is added without a look at others is shared as what is written anew.
    times = SHARED if way in _SHARED or plan.reading.has_new_keys else 1
    if batch.rows > times * MOST_ROWS or staged > times * MOST_BYTES:
        return f"{batch.rows} rows in {staged} bytes are more than tasks take"
    if batch.duplicates or (plan.spec.trusts_key and way is not Way.OVERWRITE):
        return "a declared key may repeat"
    types = {found.name: found.spark_type for found in plan.spec.columns}
    if why := unknown_type(types.values()):
        return why
    if any(types[name] in FLOATING for name in plan.spec.key):
        return "a part of the key is a float"
    return ""


def _is_harmless(name: str, value: str) -> bool:
    if not name.startswith("delta.") or name in _PROPERTIES:
        return True
    return name.startswith(_SWITCHES) and value.lower() == "false"


def _refused_by_columns(fields: Iterable[Mapping[str, Any]]) -> str:
    for field in fields:
        more = sorted(set(field.get("metadata") or ()) - _OF_COLUMNS)
        if more:
            return f"the column {field['name']!r} has {', '.join(more)}"
        changes = (field.get("metadata") or {}).get(_TYPE_CHANGES) or ()
        if not all(_is_of_one_kind(str(each.get("fromType")), str(each.get("toType"))) for each in changes):
            return f"the column {field['name']!r} was widened to another kind of value"
        if not field.get("nullable", True):
            return f"the column {field['name']!r} must not be NULL"
    return ""


def _is_of_one_kind(was: str, now: str) -> bool:
    """Whether the statistics of files from before compare with values of now as they are."""
    kinds = ({"byte", "short", "integer", "long"}, {"float", "double"})
    return any({was, now} <= kind for kind in kinds) or (was.startswith("decimal") and now.startswith("decimal"))
