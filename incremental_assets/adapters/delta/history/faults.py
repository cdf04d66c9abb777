"""Does a history say of now what the copy says, and of each moment one thing at the most?"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Window as Over
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import readable_key, spark_key_text
from incremental_assets.adapters.delta.history.newest_rows import latest
from incremental_assets.adapters.delta.history.table import Tables
from incremental_assets.adapters.delta.live import live
from incremental_assets.adapters.spark.expressions import alike, all_of, column
from incremental_assets.adapters.spark.own_names import BATCH, KEY, SEQ, TARGET, own
from incremental_assets.core.model.change_columns import CHANGE_NUMBER, COMMIT_LSN, tells_places
from incremental_assets.core.model.history import DELETED, IS_CURRENT, VALID_FROM, VALID_TO, FaultyKeys, History
from incremental_assets.core.model.schema_drift import sql_type
from incremental_assets.core.model.table import TableSpec

_SAMPLES = 10
_THERE, _FOLLOWING, _WRONG = own("there"), own("following"), own("wrong")


def differing(session: SparkSession, tables: Tables, shown: int) -> FaultyKeys:
    """`shown`: the version of the copy that the history shows."""
    spec, columns = tables.spec, tables.columns
    rows = session.read.format("delta").option("versionAsOf", shown).load(tables.copy_path)
    there = live(rows, tables.copy.columns()).withColumn(_THERE, sf.lit(1))
    current = _current(spec, session.read.format("delta").load(tables.path)).withColumn(_THERE, sf.lit(1))
    by_key = all_of(column(name, BATCH).eqNullSafe(column(name, TARGET)) for name in spec.key)
    same = alike([(column(each.name, BATCH), column(each.name, TARGET), sql_type(each.type)) for each in columns])
    both = column(_THERE, BATCH).isNotNull() & column(_THERE, TARGET).isNotNull()
    pairs = there.alias(BATCH).join(current.alias(TARGET), on=by_key, how="full_outer").where(~(both & same))
    names = dict.fromkeys((*spec.named_key, *spec.key))
    key = [sf.coalesce(column(name, BATCH), column(name, TARGET)).alias(name) for name in names]
    return _told(spec, pairs.select(*key))


def overlapping(session: SparkSession, spec: TableSpec, path: str) -> FaultyKeys:
    """The keys whose versions overlap, leave a gap, are empty, or are wrong about which one is current; under `append` those of which one sequence has brought two."""
    rows, key = session.read.format("delta").load(path), [column(name) for name in spec.key]
    written = [name for name in spec.named_key if name not in spec.key]
    if spec.history is not History.SCD2:
        shown = [sf.min(column(name)).alias(name) for name in written]
        places = (COMMIT_LSN, CHANGE_NUMBER) if tells_places(spec) else ()
        twice = rows.groupBy(*key, SEQ, *places).agg(sf.count("*").alias(_WRONG), *shown).where(sf.col(_WRONG) > 1)
        return _told(spec, twice)
    in_turn = Over.partitionBy(*key).orderBy(VALID_FROM, sf.col(VALID_TO).asc_nulls_last())
    begins, ends = sf.col(VALID_FROM), sf.col(VALID_TO)
    is_current = ends.isNull() & ~sf.col(DELETED)
    wrong = (
        ~ends.eqNullSafe(sf.col(_FOLLOWING)) | (ends <= begins) | begins.isNull() | (sf.col(IS_CURRENT) != is_current)
    )
    return _told(spec, rows.withColumn(_FOLLOWING, sf.lead(VALID_FROM).over(in_turn)).where(wrong))


def _current(spec: TableSpec, rows: DataFrame) -> DataFrame:
    if spec.history is History.SCD2:
        return rows.where(sf.col(IS_CURRENT))
    return latest(spec, rows).where(~sf.col(DELETED))


def _told(spec: TableSpec, keys: DataFrame) -> FaultyKeys:
    written = sf.min(sf.expr(spark_key_text(spec.key_columns))).alias(KEY)
    texts = keys.groupBy(*(column(name) for name in spec.key)).agg(written).select(KEY)
    count = texts.count()
    found = texts.orderBy(KEY).limit(_SAMPLES).collect() if count else []
    return FaultyKeys(count, tuple(readable_key(spec.key_columns, each[KEY]) for each in found))
