"""The same as `settle_task`, by Spark: of a lake in a store, and of what tasks must not touch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log.transaction_log import TableLog, open_log
from incremental_assets.adapters.delta.quarantine.kept_rows import RESOLVED, content, rejected
from incremental_assets.adapters.delta.quarantine.unit import Came, KeyTexts
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.staging.staging import as_text
from incremental_assets.adapters.delta.target_table import add_columns
from incremental_assets.adapters.spark.expressions import column, quoted
from incremental_assets.adapters.spark.own_names import (
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
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.model.table import TableSpec

_GONE = own("gone")
_NOW = own("now")
_AT_ONCE = 5_000
"""Rows that one statement names."""


@dataclass(frozen=True)
class _Waiting:
    """The rows of a quarantine that nothing has resolved: the source's columns as texts, HELD, and NOW, which is their content under the columns of now. `names`: the source's columns as the quarantine spells them; `now`: how NOW is computed."""

    path: str
    rows: DataFrame
    names: list[str]
    spelt: Mapping[str, str]
    now: str


def settle(site: Site, came: Came, note: CommitMetadata) -> None:
    """Of a batch that has landed."""
    session, spec = site.session, came.spec
    waiting = _waiting(session, quarantine_path(site.lake, spec.id), spec)
    batch = read_staged(session, came.staged, spec)
    again = rejected(session, came.staged, spec, dict(waiting.spelt))
    texts = [*waiting.names, REJECT_REASON, REJECT_COLUMN]
    left = waiting.rows.join(again.select(content(texts, again).alias(_NOW)), on=_NOW, how="left_anti")
    if came.overwrites:
        left = left.withColumn(_GONE, sf.lit("false").cast("boolean"))
    else:
        keys = [waiting.spelt.get(name.lower(), name) for name in spec.key]
        kinds = {found.name: found for found in spec.columns}
        shown = [as_text(kinds[name]).alias(key) for name, key in zip(spec.key, keys, strict=True)]
        goes = (column(OPERATION) == Operation.GONE.value) & column(REJECT_REASON).isNull()
        told = batch.select(*shown, goes.alias(_GONE)).groupBy(*map(column, keys)).agg(sf.bool_and(_GONE).alias(_GONE))
        left = left.join(told, on=keys).where(column(_GONE) | column(HELD))
    found = left.select(_NOW, _GONE).collect()
    _resolve(session, waiting, [row[_NOW] for row in found if row[_GONE]], Resolution.GONE, note)
    _resolve(session, waiting, [row[_NOW] for row in found if not row[_GONE]], came.resolves, note)


def resolve_gone(site: Site, spec: TableSpec, keys: Sequence[KeyTexts], note: CommitMetadata) -> None:
    """Of keys that the source has no more."""
    session = site.session
    waiting = _waiting(session, quarantine_path(site.lake, spec.id), spec)
    names = [waiting.spelt.get(name.lower(), name) for name in spec.key]
    there = waiting.rows.select(*map(column, names), column(_NOW)).collect()
    gone = set(keys)
    _resolve(session, waiting, [row[_NOW] for row in there if tuple(row)[:-1] in gone], Resolution.GONE, note)


def _waiting(session: SparkSession, path: str, spec: TableSpec) -> _Waiting:
    log = _with_marks(session, path)
    spelt = {found.name.lower(): found.name for found in log.columns()}
    names = [spelt.get(found.name.lower(), found.name) for found in spec.columns]
    rows = session.read.format("delta").load(path).where(column(RESOLVED_AT).isNull())
    held = (
        sf.coalesce(column(HELD), sf.lit("false").cast("boolean")) if HELD in spelt else sf.lit("false").cast("boolean")
    )
    shown = [quoted(name) if name.lower() in spelt else "CAST(NULL AS string)" for name in names]
    known = [sf.expr(each).alias(name) for each, name in zip(shown, names, strict=True)]
    # See `quarantine.content`.
    now = f"sha2(to_json(array({', '.join([*shown, REJECT_REASON, REJECT_COLUMN])})), 256)"
    return _Waiting(path, rows.select(*known, held.alias(HELD), sf.expr(now).alias(_NOW)), names, spelt, now)


def _with_marks(session: SparkSession, path: str) -> TableLog:
    """The log once rows can be said to wait for nothing more: a quarantine of an earlier release gets the columns, in a commit without rows."""
    log = open_log(path)
    there = {found.name for found in log.columns()} if log else set()
    lacking = [(name, kind) for name, kind in RESOLVED if name not in there]
    if log is not None and lacking:
        add_columns(session, path, lacking)
        log = open_log(path)
    if log is None:
        raise TargetChanged(f"the quarantine at {path} was removed while a run wrote to it; run the sync again")
    return log


def _resolve(
    session: SparkSession, waiting: _Waiting, contents: Sequence[str], how: Resolution, note: CommitMetadata
) -> None:
    distinct = sorted(set(contents))
    if not distinct:
        return
    with second_session(session) as own_session:
        for name, value in note.as_setting().items():
            own_session.conf.set(name, value)
        for first in range(0, len(distinct), _AT_ONCE):
            listed = ", ".join(f"'{each}'" for each in distinct[first : first + _AT_ONCE])
            own_session.sql(
                f"UPDATE delta.{quoted(waiting.path)} SET {RESOLVED_AT} = timestamp '{datetime.now(UTC).isoformat()}', {RESOLUTION} = '{how}' "  # noqa: S608 - hashes, and our own names
                f"WHERE {RESOLVED_AT} IS NULL AND {waiting.now} IN ({listed})"
            ).collect()
