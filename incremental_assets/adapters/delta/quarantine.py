"""Rows that could not land, kept beside their table as the source's own texts, with the reason."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from incremental_assets.adapters.delta.commit import Write, write
from incremental_assets.adapters.delta.commit_metadata import Kind, Note
from incremental_assets.adapters.delta.target_table import opened, prepare
from incremental_assets.adapters.delta.transaction_log import TableLog, open_log
from incremental_assets.adapters.spark.expressions import alike, column
from incremental_assets.adapters.spark.own_names import (
    AT,
    BATCH,
    RAW,
    REJECT_COLUMN,
    REJECT_REASON,
    RUN_ID,
    SEQ,
    TARGET,
    own,
)
from incremental_assets.adapters.spark.staged import read_staged
from incremental_assets.core.errors import CommitMissing
from incremental_assets.core.model.paths import quarantine_path
from incremental_assets.core.model.table import Column, Fidelity, TableSpec
from incremental_assets.core.planning.plan import SyncPlan, Ticket
from incremental_assets.core.ports import Batch

_SUFFIX = "/quarantine"
"""After the table's own app id."""
_TEXTS = own("texts")


def keep(session: SparkSession, lake: str, plan: SyncPlan, batch: Batch, staged: str) -> None:
    """Add the batch's rejected rows, but for those that are there already with the same key, cursor and reason."""
    spec, ticket = plan.spec, plan.ticket
    path, columns = quarantine_path(lake, spec.id), _as_texts(spec)
    app_id, seq = _names(open_log(path), ticket)
    log = opened(session, path, spec, columns=columns, app_id=app_id)
    prepare(session, path, log, columns)
    there = {found.name.lower(): found.name for found in log.columns()}
    rows = _rejected(session, staged, spec, there)
    target = session.read.format("delta").load(path)
    identity = [there[name.lower()] for name in _identity(spec) if name.lower() in there]
    known = alike(
        [(column(name, BATCH), column(name, TARGET), "string") for name in (*identity, REJECT_REASON, REJECT_COLUMN)]
    )
    fresh = rows.alias(BATCH).join(target.alias(TARGET), on=known, how="left_anti")
    note = Note(Kind.QUARANTINE, app_id, seq, ticket.batch_id, plan.request.run_id, log.version, rows=batch.rejected)
    marked = fresh.select(
        *(column(name) for name in rows.columns),
        sf.lit(plan.request.run_id).alias(RUN_ID),
        sf.lit(ticket.seq).cast("bigint").alias(SEQ),
        sf.lit(datetime.now(UTC).isoformat()).cast("timestamp").alias(AT),
    )
    evolves = any(name.lower() not in there for name in rows.columns)
    write(marked, Write(path, note, evolves=evolves))
    after = opened(session, path, spec, columns=columns, app_id=app_id)
    if not any(commit.note and commit.note.batch_id == ticket.batch_id for commit in after.commits(log.version)):
        raise CommitMissing(
            f"{spec.id}: the rows that cannot land did not reach quarantine, so nothing of this batch was written; run the sync again"
        )


def _names(log: TableLog | None, ticket: Ticket) -> tuple[str, int]:
    """App id and sequence of the commit. The rows that an earlier table of the same name left stay, and new ones go beside them."""
    ours = f"{ticket.app_id}{_SUFFIX}"
    if log is None or log.app_id == ours or not log.app_id.endswith(_SUFFIX):
        return ours, ticket.seq
    return log.app_id, max(ticket.seq, 1 + log.last_sequence(log.app_id))


def _rejected(session: SparkSession, staged: str, spec: TableSpec, there: dict[str, str]) -> DataFrame:
    """The source's values as the texts that the source gave, under the spelling that the quarantine has."""
    bad = read_staged(session, staged, spec).where(column(REJECT_REASON).isNotNull())
    texts = bad.select(
        sf.from_json(column(RAW), "map<string,string>").alias(_TEXTS), column(REJECT_REASON), column(REJECT_COLUMN)
    )
    values = [
        sf.try_element_at(sf.col(_TEXTS), sf.lit(name)).alias(there.get(name.lower(), name))
        for name in spec.shape.names
    ]
    return texts.select(*values, column(REJECT_REASON), column(REJECT_COLUMN))


def _identity(spec: TableSpec) -> tuple[str, ...]:
    """Key and cursor, or every column where there is no key."""
    if not spec.key:
        return spec.shape.names
    cursor = (spec.cursor.column,) if spec.cursor is not None and spec.cursor.column not in spec.key else ()
    return (*spec.key, *cursor)


def _as_texts(spec: TableSpec) -> tuple[Column, ...]:
    flags = (REJECT_REASON, REJECT_COLUMN)
    texts = [Column(found.name, found.source_type, "string", Fidelity.TEXT) for found in spec.columns]
    return (*texts, *(Column(name, "text", "string", Fidelity.TEXT) for name in flags))
