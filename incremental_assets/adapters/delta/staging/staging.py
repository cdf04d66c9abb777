"""Writing a staged batch with Spark: rows that cannot land are flagged, and everything is counted in the one pass that writes."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from incremental_assets.adapters.databases.measure import readable_key, spark_key_text
from incremental_assets.adapters.delta.staging.arrow_staging import trial_of
from incremental_assets.adapters.delta.staging.staged import Breaches, Staged, whole_keys
from incremental_assets.adapters.delta.staging.staging_task import Trial
from incremental_assets.adapters.spark.expressions import column, cursor_column, spark_value
from incremental_assets.adapters.spark.own_names import (
    BREACH,
    BREACH_COLUMN,
    KEY,
    OPERATION,
    RAW,
    REJECT_COLUMN,
    REJECT_REASON,
    TIMES,
    own,
)
from incremental_assets.adapters.spark.staged import FLAGS, STAGED, positions, read_staged, staged_schema
from incremental_assets.core.errors import StageBroken
from incremental_assets.core.model.batch import KeyRange, Operation
from incremental_assets.core.model.column import Column as SourceColumn
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.deletes import Deletes
from incremental_assets.core.model.measure import Duplicates
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import SyncPlan

_NAMED = 3
"""Repeated keys that a warning names."""


def write_counted(plan: SyncPlan, frame: DataFrame, path: str) -> Staged:
    """Write the read's rows to a folder of Parquet. Raises StageBroken where a column came as another type than was agreed."""
    spec = plan.spec
    counted = Observation()
    flagged = _with_operation(spec, _flag_null_keys(spec, frame))
    counts, trial = _counts(plan), trial_of(spec)
    if trial is not None:
        flagged = _judged(flagged, trial)
        counts.append(sf.count_if(column(BREACH).isNotNull()).alias(own("broken")))
    flagged = flagged.observe(counted, *counts).drop(BREACH, BREACH_COLUMN)
    renamed = flagged.toDF(*positions(spec), *STAGED)
    check_types(spec, renamed)
    renamed.write.mode("overwrite").parquet(path)
    found = counted.get
    return Staged(
        rows=found[own("rows")],
        digest=found[own("digest")],
        lower=None if found[own("nulls")] else _lower(spec, found[own("lower")]),
        rejected=found[own("rejected")],
        gone=found[own("gone")],
        future=found[own("future")],
        keys=tuple(
            KeyRange(name, found[own(f"lowest{place}")], found[own(f"highest{place}")])
            for place, name in enumerate(whole_keys(spec))
            if found[own(f"lowest{place}")] is not None
        ),
        held=found[own("held")],
        breaches=Breaches(found[own("broken")] if trial is not None else 0),
    )


def with_gone(spec: TableSpec, frame: DataFrame, gone: DataFrame) -> DataFrame:
    """The read's rows, and behind them one for each key that is gone, of which nothing else is known."""
    unknown = [
        (column(each.name) if each.name in spec.key else sf.lit(None).cast(each.spark_type)).alias(each.name)
        for each in spec.columns
    ]
    flags = [sf.lit(None).cast("string").alias(name) for name in FLAGS[:-1]]
    flags += [sf.lit("false").cast("boolean").alias(FLAGS[-1])]
    keys = gone.select(*unknown, *flags, sf.lit(Operation.GONE.value).alias(OPERATION))
    return frame.withColumn(OPERATION, sf.lit(Operation.PUT.value)).unionByName(keys)


def as_text(found: SourceColumn) -> Column:
    """A column's values as texts."""
    return sf.hex(column(found.name)) if found.spark_type == "binary" else column(found.name).cast("string")


def from_text(text: Column, kind: str) -> Column:
    """A value again from the text that `as_text` made of it."""
    return sf.unhex(text) if kind == "binary" else text.cast(kind)


def repeated_keys(session: SparkSession, path: str, spec: TableSpec) -> Duplicates:
    """Keys that a staged batch holds more than once, the rows beyond the first of each, and a few of the keys unless nobody may see them."""
    landable = read_staged(session, path, spec).where(column(OPERATION) == Operation.PUT.value)
    written = sf.min(sf.expr(spark_key_text(spec.key_columns))).alias(KEY)
    keys = landable.groupBy(*(column(name) for name in spec.key)).agg(sf.count("*").alias(TIMES), written)
    twice = keys.where(sf.col(TIMES) > 1)
    found = twice.agg(sf.count("*").alias(own("keys")), sf.sum(sf.col(TIMES) - 1).alias(own("more"))).first()
    if found is None or not found[own("keys")]:
        return Duplicates(0, 0)
    return Duplicates(int(found[own("keys")]), int(found[own("more")]), _named(twice, spec))


def _named(keys: DataFrame, spec: TableSpec) -> tuple[str, ...]:
    if set(spec.personal) & set(spec.named_key):
        return ()
    texts = keys.select(KEY).orderBy(KEY).limit(_NAMED).collect()
    return tuple(readable_key(spec.key_columns, text[KEY]) for text in texts)


def _counts(plan: SyncPlan) -> list[Column]:
    spec = plan.spec
    lands, is_fit = column(OPERATION) == Operation.PUT.value, column(REJECT_REASON).isNull()
    hashed = sf.xxhash64(*(column(name) for name in spec.shape.names))
    lower, nulls = sf.lit(None).cast("string"), sf.lit(0)
    if spec.read_by is not None:
        cursor = cursor_column(spec)
        lowest = sf.min(sf.when(lands, cursor))
        # Numbers may carry a fraction: as whole ones, below.
        lower = (lowest if spec.read_by.type.is_time else sf.floor(lowest)).cast("string")
        nulls = sf.count_if(lands & cursor.isNull())
    return [
        sf.count(sf.lit(1)).alias(own("rows")),
        # As decimals: a sum of 64-bit hashes does not fit into 64 bits.
        sf.coalesce(sf.sum(hashed.cast("decimal(20,0)")), sf.lit(0)).cast("string").alias(own("digest")),
        sf.count_if(~is_fit).alias(own("rejected")),
        sf.count_if(is_fit & ~lands).alias(own("gone")),
        sf.count_if(column(OPERATION) == Operation.HELD.value).alias(own("held")),
        lower.alias(own("lower")),
        nulls.alias(own("nulls")),
        count_future(plan, lands).alias(own("future")),
        *(
            end(sf.when(lands, column(name))).alias(own(f"{word}{place}"))
            for place, name in enumerate(whole_keys(spec))
            for word, end in (("lowest", sf.min), ("highest", sf.max))
        ),
    ]


def count_future(plan: SyncPlan, among: Column | None = None) -> Column:
    """How many of the rows, or of those for which `among` holds, are stamped past the source's clock as the snapshot found it."""
    limit = spark_value(plan.reading.told_above) if plan.reading.told_above is not None else None
    if limit is None or plan.spec.read_by is None:
        return sf.lit(0)
    beyond = cursor_column(plan.spec) >= limit
    return sf.count_if(beyond if among is None else among & beyond)


def _flag_null_keys(spec: TableSpec, frame: DataFrame) -> DataFrame:
    """Flags rows with a NULL in the key as rejected where a table has one row per key: they cannot be told apart from each other."""
    if not spec.traits.one_row_per_key:
        return frame
    first_null = sf.coalesce(*(sf.when(column(name).isNull(), sf.lit(name)) for name in spec.key_parts))
    bare = column(REJECT_REASON).isNull() & first_null.isNotNull()
    flags = {
        REJECT_COLUMN: sf.when(bare, first_null).otherwise(column(REJECT_COLUMN)),
        REJECT_REASON: sf.when(bare, sf.lit("a part of the key is NULL")).otherwise(column(REJECT_REASON)),
        RAW: sf.when(bare, _as_json(spec)).otherwise(column(RAW)),
    }
    return frame.withColumns(flags)


def _with_operation(spec: TableSpec, frame: DataFrame) -> DataFrame:
    """A read that does not say what became of a row has it to put; a row that cannot land leaves no older one of its key behind."""
    goes = column(REJECT_REASON).isNotNull()
    if OPERATION in frame.columns:
        goes = goes | column(OPERATION).eqNullSafe(Operation.GONE.value)
    if spec.deletes.drops_marked:
        goes = goes | _is_marked(spec.deletes)
    operation = sf.when(goes, sf.lit(Operation.GONE.value)).otherwise(sf.lit(Operation.PUT.value))
    return frame.select(*(column(name) for name in (*spec.shape.names, *FLAGS)), operation.alias(OPERATION))


def _judged(frame: DataFrame, trial: Trial) -> DataFrame:
    """Adds BREACH and BREACH_COLUMN, and where the contract holds rows rejects those that break it. In one task, where a rule asks for unique values."""
    names, judge = frame.columns, trial.judge

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Inside of it nothing of this module is named: what a worker cannot import, it is sent.
        from incremental_assets.adapters.delta.staging.contracted import judged_batches

        return judged_batches(judge, batches)

    schema = StructType([*frame.schema.fields, *(StructField(name, StringType()) for name in (BREACH, BREACH_COLUMN))])
    told = (frame.coalesce(1) if judge.unique else frame).mapInArrow(work, schema)
    if not trial.holds:
        return told
    breaks = column(BREACH).isNotNull()
    flags = {
        REJECT_COLUMN: sf.coalesce(column(REJECT_COLUMN), column(BREACH_COLUMN)),
        REJECT_REASON: sf.coalesce(column(REJECT_REASON), column(BREACH)),
        OPERATION: sf.when(breaks, sf.lit(Operation.HELD.value)).otherwise(column(OPERATION)),
    }
    return told.withColumns(flags).select(*(column(name) for name in (*names, BREACH, BREACH_COLUMN)))


def _is_marked(deletes: Deletes) -> Column:
    """Whether the source says in a column of the row that it is gone."""
    mark = column(deletes.column)
    return mark.isNotNull() if deletes.value is None else mark.cast("string").eqNullSafe(deletes.value)


def _as_json(spec: TableSpec) -> Column:
    """The row as one JSON object of texts, as the source gives it for rows that it rejects itself."""
    texts = [as_text(found) for found in spec.columns]
    return sf.to_json(sf.map_from_arrays(sf.array(*(sf.lit(name) for name in spec.shape.names)), sf.array(*texts)))


def check_types(spec: TableSpec, frame: DataFrame) -> None:
    """Raises StageBroken where one of the frame's first columns, which are the source's, came as another type than was agreed."""
    agreed = staged_schema(spec)
    for came, expected, found in zip(frame.schema, agreed, spec.columns, strict=False):
        if came.dataType != expected.dataType:
            raise StageBroken(
                f"{spec.id}: the column {found.name!r} ({found.source_type}) was read as {came.dataType.simpleString()} "
                f"where {expected.dataType.simpleString()} was agreed; nothing was written, please report it"
            )


def _lower(spec: TableSpec, text: str | None) -> CursorValue | None:
    """The cursor value of a text; None, so that more is compared than need be, where Spark's text is no value that a cursor can have."""
    kind = spec.cursor_type
    if text is None or kind is None:
        return None
    try:
        return CursorValue.parse(kind, text)
    except ValueError:
        return None
