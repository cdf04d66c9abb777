"""Which commits we may write ourselves: decided by an exact list of what a table can have, and by what a batch asks for. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from incremental_assets.adapters.delta.direct.log_state import LogState
from incremental_assets.core.model.batch import Batch
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

MOST_ROWS = 1_000_000
"""Of one batch: above it Spark's own writer shares the work out over its cores."""
MOST_COMPARED = 4_000_000
"""Rows of the target that an append is compared with in one task."""

_READER_FEATURES = frozenset({"deletionVectors", "timestampNtz"})
_WRITER_FEATURES = frozenset({"deletionVectors", "timestampNtz", "appendOnly", "invariants"})
"""A table may have these, of which only deletion vectors ask anything of a writer as long as no column has an invariant."""
_VERSIONS = (3, 7)
_REFUSED_PROPERTIES = (
    "delta.appendOnly",
    "delta.enableChangeDataFeed",
    "delta.enableRowTracking",
    "delta.enableInCommitTimestamps",
    "delta.enableTypeWidening",
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.randomizeFilePrefixes",
    "delta.parquet.compression.codec",
)
"""Switched on by another hand; off or absent, they ask nothing of a writer."""
_REFUSED_PREFIXES = (
    "delta.constraints.",
    "delta.coordinatedCommits",
    "delta.columnMapping.mode",
    "delta.universalFormat",
)
_FLOATS = ("float", "double")


def refused_by_table(state: LogState) -> str:
    """Why a commit to this table is Spark's; empty where we may write it."""
    found = state.protocol
    if (found.get("minReaderVersion"), found.get("minWriterVersion")) != _VERSIONS:
        return "its protocol names no features"
    features = {*(found.get("readerFeatures") or ())} - _READER_FEATURES
    features |= {*(found.get("writerFeatures") or ())} - _WRITER_FEATURES
    if features:
        return f"the table has {', '.join(sorted(features))}"
    if state.metadata.get("partitionColumns"):
        return "the table is partitioned"
    named = [name for name, value in state.properties.items() if _is_refused(name, value)]
    if named:
        return f"the table has {', '.join(sorted(named))}"
    if '"delta.invariants"' in state.metadata.get("schemaString", ""):
        return "a column has an invariant"
    return ""


def refused_by_batch(plan: SyncPlan, batch: Batch, changes: Difference) -> str:
    """Why a batch lands by Spark; empty where it may land in a task."""
    spec = plan.spec
    if changes:
        return "the columns change"
    if batch.rows > MOST_ROWS:
        return f"{batch.rows} rows are more than one task takes"
    if spec.trusts_key or batch.duplicates:
        return "a declared key may repeat"
    if _has_float(spec, spec.key):
        return "a part of the key is a float"
    return ""


def refused_by_rows(files: Iterable[int | None]) -> str:
    """Why an append is compared by Spark, from the rows of the files that it is compared with."""
    counted = list(files)
    if None in counted or sum(each or 0 for each in counted) > MOST_COMPARED:
        return f"it is compared with more than {MOST_COMPARED} rows"
    return ""


def _is_refused(name: str, value: str) -> bool:
    return (name in _REFUSED_PROPERTIES and value.lower() != "false") or name.startswith(_REFUSED_PREFIXES)


def _has_float(spec: TableSpec, names: Iterable[str]) -> bool:
    types = {found.name: found.spark_type for found in spec.columns}
    return any(types[name] in _FLOATS for name in names)
