"""Rows in quarantine that wait for nothing more: resolved in place, so that what happened to each stays there to be read.

A contract holds some of them; the others cannot land. Of these a batch says only that they are gone, or, where it is all of its table,
which of them are still there: another version of such a row is in the copy, or in quarantine again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from incremental_assets.adapters.delta import plane
from incremental_assets.adapters.delta.commit_metadata import CommitMetadata, Kind
from incremental_assets.adapters.delta.log.transaction_log import open_log
from incremental_assets.adapters.delta.quarantine import by_tasks
from incremental_assets.adapters.delta.quarantine.unit import Came, KeyTexts
from incremental_assets.adapters.delta.site import Site
from incremental_assets.core.errors import TargetChanged
from incremental_assets.core.model.paths import quarantine_path, table_path
from incremental_assets.core.model.table import TableSpec


def settle(site: Site, came: Came) -> None:
    """Resolve rows of which the batch that has just landed brought what comes after: another version, held or not, or that they are gone."""
    spec = came.spec
    if open_log(quarantine_path(site.lake, spec.id)) is None or not (spec.key or came.overwrites):
        return
    note = _note(site.lake, spec, came.seq)

    def by_spark() -> None:
        from incremental_assets.adapters.delta.quarantine import by_spark

        by_spark.settle(site, came, note)

    _resolve(site, spec, lambda: by_tasks.settle(site, spec, came, note), by_spark)


def resolve_gone(site: Site, spec: TableSpec, keys: Sequence[KeyTexts]) -> None:
    """Say of rows with these keys, which wait, that the source has them no more."""
    if not keys:
        return
    note = _note(site.lake, spec, _last_sequence(site.lake, spec))

    def by_spark() -> None:
        from incremental_assets.adapters.delta.quarantine import by_spark

        by_spark.resolve_gone(site, spec, keys, note)

    _resolve(site, spec, lambda: by_tasks.settle(site, spec, keys, note), by_spark)


def _resolve(site: Site, spec: TableSpec, by_tasks: Callable[[], None], by_spark: Callable[[], None]) -> None:
    plane.commit(quarantine_path(site.lake, spec.id), f"{spec.id}: rows in quarantine are resolved", by_tasks, by_spark)


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
