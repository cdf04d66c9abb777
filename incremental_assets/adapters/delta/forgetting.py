"""Versions of a history, and rows of a quarantine, that are older than they are kept leave their table: by tasks where we may commit ourselves, else by Delta's DELETE."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata
from incremental_assets.adapters.delta.log import log_cache
from incremental_assets.adapters.delta.log.transaction_log import TableLog
from incremental_assets.adapters.delta.quarantine.known import Known
from incremental_assets.adapters.delta.quarantine.unfit import waiting_texts
from incremental_assets.adapters.delta.site import Site
from incremental_assets.adapters.delta.tasks.files.skipping import ordinal
from incremental_assets.adapters.delta.tasks.forgetting import forgetting
from incremental_assets.adapters.delta.tasks.forgetting.forgetting import Forgetting
from incremental_assets.adapters.delta.tasks.forgetting.unit import Closed, Landed, Old
from incremental_assets.adapters.spark.expressions import quoted
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.own_names import AT, HELD, RESOLVED_AT
from incremental_assets.adapters.spark.session import second_session
from incremental_assets.core.model.history import DELETED, VALID_FROM, VALID_TO
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_REWRITES = {"spark.databricks.delta.delete.deletionVectors.persistent": "false"}
"""A mark would leave the values of the rows where they are."""


@dataclass(frozen=True, slots=True)
class Aged:
    """What is older than this of a table beside a copy, whose log is as it was opened; `note`: of the commit by which it goes."""

    spec: TableSpec
    before: datetime
    log: TableLog
    note: CommitMetadata

    @property
    def moment(self) -> str:
        """In SQL."""
        return f"TIMESTAMP '{self.before.isoformat()}'"


def forget_versions(site: Site, old: Aged) -> int:
    """Versions that ended before a moment, and those that say that their row was gone by then: no question about a later moment needs them."""
    spec, path, at = old.spec, table_path(site.lake, old.spec.id.history), old.moment
    predicate = f"{VALID_TO} < {at} OR ({VALID_TO} IS NULL AND {DELETED} AND {VALID_FROM} < {at})"

    def by_tasks() -> int:
        there = Known(log_cache.at(path, old.log.version))
        ends, begins = (there.column(name, "timestamp") for name in (VALID_TO, VALID_FROM))
        rows = Old(ordinal(old.before), begins, Closed(ends, there.column(DELETED, "boolean"), begins))
        return forgetting.forget(site.tasks, Forgetting(spec, path, old.note, predicate, rows))

    what = f"{spec.id}: versions that ended long ago leave its history"
    return plane.commit(path, what, by_tasks, lambda: _by_spark(site.session, path, old.note, predicate)).result


def forget_quarantined(site: Site, old: Aged) -> int:
    """Rows that were resolved before a moment, and those from before it whose row has landed since; what waits stays, as it is counted against the source."""
    spec, path = old.spec, quarantine_path(site.lake, old.spec.id)
    is_resolved = any(found.name == RESOLVED_AT for found in old.log.columns())
    predicate = f"{RESOLVED_AT} < {old.moment}" if is_resolved else "false"

    def by_tasks() -> int:
        there = Known(log_cache.at(path, old.log.version))
        ends = there.column(RESOLVED_AT, "timestamp") if is_resolved else None
        closed, landed = Closed(ends) if ends else None, _landed(site.lake, spec, there)
        rows = Old(ordinal(old.before), there.column(AT, "timestamp"), closed, landed)
        return forgetting.forget(site.tasks, Forgetting(spec, path, old.note, predicate, rows))

    what = f"{spec.id}: rows that wait for nothing leave its quarantine"
    return plane.commit(path, what, by_tasks, lambda: _by_spark(site.session, path, old.note, predicate)).result


def _landed(lake: str, spec: TableSpec, there: Known) -> Landed | None:
    """None where no row can be looked for in the copy by its key."""
    if not spec.key or not spec.traits.one_row_per_key:
        return None
    with suppress(NotByTasks):
        return Landed(
            tuple(there.columns(spec.key, "string")),
            waiting_texts(lake, spec),
            there.column(HELD, "boolean") if there.has(HELD) else None,
        )
    return None


def _by_spark(session: SparkSession, path: str, note: CommitMetadata, predicate: str) -> int:
    with second_session(session) as own:
        for name, value in {**note.as_setting(), **_REWRITES}.items():
            own.conf.set(name, value)
        (row,) = own.sql(f"DELETE FROM delta.{quoted(path)} WHERE {predicate}").collect()  # noqa: S608 - a path, and names and a moment of ours
    return int(row["num_affected_rows"])
