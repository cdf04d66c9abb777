"""Rows in quarantine that a contract holds no more: resolved in place, so that what happened to each stays there to be read."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.databases.measure import spark_row_hash, spark_row_text
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.holding import direct
from incremental_assets.adapters.delta.holding.unit import Came
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.quarantine import content
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.staging import as_text, from_text
from incremental_assets.adapters.spark.expressions import column, cursor_column, quoted
from incremental_assets.adapters.spark.own_names import (
    CONTENT,
    HASH,
    HELD,
    OPERATION,
    REJECT_COLUMN,
    REJECT_REASON,
    RESOLUTION,
    RESOLVED_AT,
    own,
)
from incremental_assets.adapters.spark.session import second_session
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.batch import Operation
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.model.table import TableSpec

OPEN = f"{HELD} AND {RESOLVED_AT} IS NULL"
"""The condition that a row of the quarantine is held now."""
_GONE, _TEXT = own("gone"), own("text")
_AT_ONCE = 5_000
"""Rows that one statement names."""


def settle(site: Site, came: Came) -> None:
    """Resolve rows of which the batch that has just landed brought what comes after: another version, held or not, or that they are gone."""
    spec = came.spec
    log = open_log(quarantine_path(site.lake, spec.id))
    if log is None or not _holds(log) or not (spec.key or came.overwrites):
        return
    if not direct.settled(site, spec, came, _note(site.lake, spec)):
        _settle_by_spark(site.session, site.lake, came)


def _settle_by_spark(session: SparkSession, lake: str, came: Came) -> None:
    spec, held = came.spec, open_rows(session, quarantine_path(lake, came.spec.id), came.spec)
    if held is None:
        return
    names = held.columns[:-1]
    batch = read_staged(session, came.staged, spec)
    shown = [as_text(found).alias(name) for found, name in zip(spec.columns, names, strict=True)]
    batch = batch.select(*shown, column(REJECT_REASON), column(REJECT_COLUMN), column(OPERATION))
    again = batch.where(column(OPERATION) == Operation.HELD.value)
    texts = [*names, REJECT_REASON, REJECT_COLUMN]
    left = held.join(again.select(content(texts, again).alias(CONTENT)), on=CONTENT, how="left_anti")
    if came.overwrites:
        left = left.withColumn(_GONE, sf.lit("false").cast("boolean"))
    else:
        spelt = {name.lower(): name for name in names}
        keys = [spelt[name.lower()] for name in spec.key]
        goes = (column(OPERATION) == Operation.GONE.value) & column(REJECT_REASON).isNull()
        left = left.join(batch.groupBy(*(column(name) for name in keys)).agg(sf.bool_and(goes).alias(_GONE)), on=keys)
    found = left.select(CONTENT, _GONE).collect()
    _resolve_by_spark(session, lake, spec, [row[CONTENT] for row in found if row[_GONE]], Resolution.GONE)
    _resolve_by_spark(session, lake, spec, [row[CONTENT] for row in found if not row[_GONE]], came.resolves)


def open_rows(session: SparkSession, path: str, spec: TableSpec) -> DataFrame | None:
    """Rows that are held now: the source's columns as texts, under the spelling of the quarantine, and CONTENT; None where none ever was."""
    log = open_log(path)
    if log is None or not _holds(log):
        return None
    there = {found.name.lower(): found.name for found in log.columns()}
    names = [there.get(found.name.lower(), found.name) for found in spec.columns]
    known = [(column(name) if name.lower() in there else sf.lit(None).cast("string")).alias(name) for name in names]
    return session.read.format("delta").load(path).where(OPEN).select(*known, column(CONTENT))


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
    if not spec.is_incremental or spec.cursor is None:
        return ()
    kind = spec.cursor.type
    texts = _typed(spec, held).select(cursor_column(spec).cast("string").alias(_TEXT)).where(f"{_TEXT} IS NOT NULL")
    # The session's zone is UTC.
    found = (row[_TEXT].replace(" ", "T") for row in texts.distinct().collect())
    return tuple(CursorValue.parse(kind, text + "Z" if kind is CursorType.TIMESTAMP else text) for text in found)


def keys(session: SparkSession, path: str, spec: TableSpec) -> dict[str, list[str]]:
    """Per key's canonical text the CONTENT of the rows that are held."""
    held = open_rows(session, path, spec)
    if held is None:
        return {}
    by_name = {found.name: found for found in spec.columns}
    text = sf.expr(spark_row_text([by_name[name] for name in spec.key])).alias(_TEXT)
    found: dict[str, list[str]] = {}
    for row in _typed(spec, held).select(text, column(CONTENT)).collect():
        found.setdefault(row[_TEXT], []).append(row[CONTENT])
    return found


def _holds(log: TableLog) -> bool:
    """Whether a quarantine ever held a row for a contract."""
    return HELD in {found.name for found in log.columns()}


def resolve(site: Site, spec: TableSpec, contents: Sequence[str], how: Resolution) -> None:
    """Say of these rows, which are held, that they are no more, and how that came."""
    if contents and not direct.settled(site, spec, dict.fromkeys(contents, how.value), _note(site.lake, spec)):
        _resolve_by_spark(site.session, site.lake, spec, contents, how)


def _resolve_by_spark(
    session: SparkSession, lake: str, spec: TableSpec, contents: Sequence[str], how: Resolution
) -> None:
    path, distinct = quarantine_path(lake, spec.id), sorted(set(contents))
    if not distinct:
        return
    with second_session(session) as own_session:
        for name, value in _note(lake, spec).as_setting().items():
            own_session.conf.set(name, value)
        for first in range(0, len(distinct), _AT_ONCE):
            listed = ", ".join(f"'{each}'" for each in distinct[first : first + _AT_ONCE])
            own_session.sql(
                f"UPDATE delta.{quoted(path)} SET {RESOLVED_AT} = timestamp '{datetime.now(UTC).isoformat()}', {RESOLUTION} = '{how}' "  # noqa: S608 - hashes, and our own names
                f"WHERE {OPEN} AND {CONTENT} IN ({listed})"
            ).collect()


def _note(lake: str, spec: TableSpec) -> CommitMetadata:
    """After which sequence of the copy rows were resolved: a rollback finds by it what was so then."""
    copy, held = open_log(table_path(lake, spec.id)), open_log(quarantine_path(lake, spec.id))
    if copy is None or held is None:
        raise TargetChanged(
            f"{spec.id}: the copy, or its quarantine, was removed while a run wrote to it; run the sync again"
        )
    seq = copy.last_sequence(copy.app_id)
    return CommitMetadata(Kind.QUARANTINE, held.app_id, seq, uuid.uuid4().hex, "", held.version)
