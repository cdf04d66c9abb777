"""Rows that a contract holds now, as Spark reads them from their quarantine."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import spark_row_hash, spark_row_text
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.staging.staging import from_text
from incremental_assets.adapters.spark.expressions import column, cursor_column
from incremental_assets.adapters.spark.own_names import (
    CONTENT,
    HASH,
    HELD,
    REJECT_COLUMN,
    REJECT_REASON,
    RESOLVED_AT,
    key_part,
    own,
)
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.table import TableSpec

OPEN = f"{HELD} AND {RESOLVED_AT} IS NULL"
"""The condition that a row of the quarantine is held now."""
_TEXT = own("text")


def ever_held(log: TableLog) -> bool:
    """Whether a quarantine ever held a row for a contract."""
    return HELD in {found.name for found in log.columns()}


def open_rows(session: SparkSession, path: str, spec: TableSpec) -> DataFrame | None:
    """Rows that are held now: the source's columns as texts, under the spelling of the quarantine, CONTENT, and why; None where none ever was."""
    log = open_log(path)
    if log is None or not ever_held(log):
        return None
    there = {found.name.lower(): found.name for found in log.columns()}
    names = [there.get(found.name.lower(), found.name) for found in spec.columns]
    known = [(column(name) if name.lower() in there else sf.lit(None).cast("string")).alias(name) for name in names]
    return (
        session.read.format("delta")
        .load(path)
        .where(OPEN)
        .select(*known, column(CONTENT), column(REJECT_REASON), column(REJECT_COLUMN))
    )


def without_held(session: SparkSession, path: str, spec: TableSpec, source: DataFrame) -> DataFrame:
    """Rows of the source, by KEY and HASH, without those that are held just as they are: none of them is missing in the copy."""
    held = open_rows(session, path, spec) if spec.contract is not None else None
    if held is None:
        return source
    hashed = _typed(spec, held).select(sf.expr(spark_row_hash(spec.columns)).alias(HASH)).distinct()
    return source.join(hashed, on=HASH, how="left_anti")


def _typed(spec: TableSpec, held: DataFrame) -> DataFrame:
    """The source's columns in their types, and CONTENT."""
    columns = [
        from_text(column(name), found.spark_type).alias(found.name)
        for found, name in zip(spec.columns, held.columns, strict=False)
    ]
    return held.select(*columns, column(CONTENT))


def cursors(session: SparkSession, path: str, spec: TableSpec) -> tuple[CursorValue, ...] | None:
    """The cursors of the rows that are held, each once; None where none is. One without a cursor has none."""
    held = open_rows(session, path, spec)
    if held is None or held.isEmpty():
        return None
    if spec.read_by is None:
        return ()
    kind = spec.read_by.type
    texts = _typed(spec, held).select(cursor_column(spec).cast("string").alias(_TEXT)).where(f"{_TEXT} IS NOT NULL")
    # The session's zone is UTC.
    found = (row[_TEXT].replace(" ", "T") for row in texts.distinct().collect())
    return tuple(CursorValue.parse(kind, text + "Z" if kind is CursorType.TIMESTAMP else text) for text in found)


def keys(session: SparkSession, path: str, spec: TableSpec) -> dict[str, list[tuple[str, ...]]]:
    """The keys of the rows that are held as the quarantine has them, by their canonical texts."""
    held = open_rows(session, path, spec)
    if held is None:
        return {}
    by_name = {found.name: found for found in spec.columns}
    spelt = dict(zip(by_name, held.columns, strict=False))
    shown = [column(spelt[name]).alias(key_part(place)) for place, name in enumerate(spec.key)]
    typed = [from_text(column(spelt[name]), by_name[name].spark_type).alias(name) for name in spec.key]
    text = sf.expr(spark_row_text([by_name[name] for name in spec.key])).alias(_TEXT)
    found: dict[str, list[tuple[str, ...]]] = {}
    for row in held.select(*shown, *typed).select(text, *(key_part(place) for place in range(len(shown)))).collect():
        found.setdefault(row[_TEXT], []).append(tuple(row)[1:])
    return found
