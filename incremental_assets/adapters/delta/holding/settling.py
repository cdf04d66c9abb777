"""Rows in quarantine that a contract holds no more: resolved in place, so that what happened to each stays there to be read."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.held_frames import OPEN, ever_held, open_rows
from incremental_assets.adapters.delta.holding import direct
from incremental_assets.adapters.delta.holding.quarantine import content
from incremental_assets.adapters.delta.holding.unit import Came
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.staging.staging import as_text
from incremental_assets.adapters.spark.expressions import column, quoted
from incremental_assets.adapters.spark.own_names import (
    CONTENT,
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
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.quarantine import Resolution
from incremental_assets.core.model.table import TableSpec

_GONE = own("gone")
_NOW = own("now")
_AT_ONCE = 5_000
"""Rows that one statement names."""


def settle(site: Site, came: Came) -> None:
    """Resolve rows of which the batch that has just landed brought what comes after: another version, held or not, or that they are gone."""
    spec = came.spec
    log = open_log(quarantine_path(site.lake, spec.id))
    if log is None or not ever_held(log) or not (spec.key or came.overwrites):
        return
    if not direct.settled(site, spec, came, _note(site.lake, spec, came.seq)):
        _settle_by_spark(site, came)


def _settle_by_spark(site: Site, came: Came) -> None:
    session, spec = site.session, came.spec
    held = open_rows(session, quarantine_path(site.lake, spec.id), spec)
    if held is None:
        return
    names = held.columns[: len(spec.columns)]
    batch = read_staged(session, came.staged, spec)
    shown = [as_text(found).alias(name) for found, name in zip(spec.columns, names, strict=True)]
    batch = batch.select(*shown, column(REJECT_REASON), column(REJECT_COLUMN), column(OPERATION))
    again = batch.where(column(OPERATION) == Operation.HELD.value)
    texts = [*names, REJECT_REASON, REJECT_COLUMN]
    # What is stored as their content is of the columns that the table had then.
    left = held.withColumn(_NOW, content(texts, held)).join(
        again.select(content(texts, again).alias(_NOW)), on=_NOW, how="left_anti"
    )
    if came.overwrites:
        left = left.withColumn(_GONE, sf.lit("false").cast("boolean"))
    else:
        spelt = {name.lower(): name for name in names}
        keys = [spelt[name.lower()] for name in spec.key]
        goes = (column(OPERATION) == Operation.GONE.value) & column(REJECT_REASON).isNull()
        left = left.join(batch.groupBy(*(column(name) for name in keys)).agg(sf.bool_and(goes).alias(_GONE)), on=keys)
    found = left.select(CONTENT, _GONE).collect()
    _resolve_by_spark(site, spec, [row[CONTENT] for row in found if row[_GONE]], Resolution.GONE, came.seq)
    _resolve_by_spark(site, spec, [row[CONTENT] for row in found if not row[_GONE]], came.resolves, came.seq)


def resolve(site: Site, spec: TableSpec, contents: Sequence[str], how: Resolution) -> None:
    """Say of these rows, which are held, that they are no more, and how that came."""
    if not contents:
        return
    seq = _last_sequence(site.lake, spec)
    if not direct.settled(site, spec, dict.fromkeys(contents, how.value), _note(site.lake, spec, seq)):
        _resolve_by_spark(site, spec, contents, how, seq)


def _resolve_by_spark(site: Site, spec: TableSpec, contents: Sequence[str], how: Resolution, seq: int) -> None:
    path, distinct = quarantine_path(site.lake, spec.id), sorted(set(contents))
    if not distinct:
        return
    with second_session(site.session) as own_session:
        for name, value in _note(site.lake, spec, seq).as_setting().items():
            own_session.conf.set(name, value)
        for first in range(0, len(distinct), _AT_ONCE):
            listed = ", ".join(f"'{each}'" for each in distinct[first : first + _AT_ONCE])
            own_session.sql(
                f"UPDATE delta.{quoted(path)} SET {RESOLVED_AT} = timestamp '{datetime.now(UTC).isoformat()}', {RESOLUTION} = '{how}' "  # noqa: S608 - hashes, and our own names
                f"WHERE {OPEN} AND {CONTENT} IN ({listed})"
            ).collect()


def _note(lake: str, spec: TableSpec, seq: int) -> CommitMetadata:
    """Rows were resolved by this sequence of the copy: a rollback finds by it what was so then."""
    held = open_log(quarantine_path(lake, spec.id))
    if held is None:
        raise _removed(spec)
    return CommitMetadata(Kind.QUARANTINE, held.app_id, seq, uuid.uuid4().hex, "", held.version)


def _last_sequence(lake: str, spec: TableSpec) -> int:
    copy = open_log(table_path(lake, spec.id))
    if copy is None:
        raise _removed(spec)
    return copy.last_sequence(copy.app_id)


def _removed(spec: TableSpec) -> TargetChanged:
    return TargetChanged(
        f"{spec.id}: the copy, or its quarantine, was removed while a run wrote to it; run the sync again"
    )
