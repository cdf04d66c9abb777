"""Partitions without a row, of copies for which something downstream waits: `eager()` waits until no partition of what it depends on is missing.

A sync announces a table from its first row to its last. Where an asset with an automation condition reads the copy, the windows before and behind, of which every row has landed as there is none, are
announced as well, by the look that finds them; nowhere else, as years of empty windows are of no use to anybody.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Self

from dagster import AssetKey, DagsterInstance, RepositoryDefinition, SensorEvaluationContext

from incremental_assets.core.checks.shown import settled_keys
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.partition import TimeGrid, count
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.words import agreeing, counted
from incremental_assets.defs.announcing import announce_without_run
from incremental_assets.defs.partitions import Scheme
from incremental_assets.defs.tables import Known, View

_NAME = "incremental_assets/awaited/"


def awaited(view: View, repository: RepositoryDefinition | None) -> dict[AssetKey, Known]:
    """The copies and histories by time on which an asset of the same code location depends that runs by itself, each with its table."""
    waited_for = frozenset() if repository is None else _waited_for(repository)
    if not waited_for:
        return {}
    return {
        key: known
        for known in view.tables
        if isinstance(known.scheme.grid, TimeGrid)
        for key in view.asset_keys([known.id])
        if key in waited_for
    }


@lru_cache(maxsize=1)
def _waited_for(repository: RepositoryDefinition) -> frozenset[AssetKey]:
    """Kept, as each look asks and a code location has one repository: of a thousand tables it is a sixth of a second."""
    graph = repository.asset_graph
    return frozenset(
        parent
        for key in graph.get_all_asset_keys()
        if graph.get(key).automation_condition
        for parent in graph.get(key).parent_keys
    )


def announce_awaited(
    context: SensorEvaluationContext,
    view: View,
    specs: Mapping[TableId, TableSpec],
    positions: Mapping[TableId, Checkpoint],
    moved: Collection[TableId],
) -> list[str]:
    """A sentence for each asset of which some were announced; one statement where no window has turned. Of tables that have moved since, those that the last sync saw."""
    now = datetime.now(UTC)
    marks = {
        _NAME + key.to_string(): (key, found)
        for key, known in awaited(view, context.repository_def).items()
        if (spec := specs.get(known.id)) is not None
        and (found := _Seen.of(spec, known, positions, None if known.id in moved else now)) is not None
    }
    storage = context.instance.daemon_cursor_storage
    kept = storage.get_cursor_values(set(marks)) if marks else {}
    sentences = []
    for name, (key, found) in marks.items():
        if kept.get(name) == found.mark:
            continue
        try:
            done = _announce(context.instance, key, found)
        except IncrementalAssetsError:
            # On other terms than it has now, or with too many windows: a sync of it says so.
            continue
        storage.set_cursor_values({name: found.mark})
        if done:
            sentences.append(
                f"{key.to_user_string()}: {counted(done, 'partition')} without a row {agreeing(done, 'is', 'are')} shown as landed, as an asset downstream waits for all of them"
            )
    return sentences


@dataclass(frozen=True, slots=True)
class _Seen:
    """A table by time of which something has landed, and until when its windows are known."""

    spec: TableSpec
    scheme: Scheme
    grid: TimeGrid
    state: State
    until: datetime

    @classmethod
    def of(
        cls, spec: TableSpec, known: Known, positions: Mapping[TableId, Checkpoint], until: datetime | None
    ) -> Self | None:
        """None for other tables, and while a sync is at work or was killed."""
        scheme = known.scheme
        position = positions.get(spec.id, Checkpoint())
        state, until = position.state, until or (position.state.clock if position.state else None)
        if state is None or until is None or position.open is not None or not isinstance(scheme.grid, TimeGrid):
            return None
        return cls(spec, scheme, scheme.grid, state, until)

    @property
    def mark(self) -> str:
        """Up to which window it is known."""
        return f"{self.scheme.name} {self.state.app_id} {count(self.grid, self.until)}"


def _announce(instance: DagsterInstance, key: AssetKey, found: _Seen) -> int:
    settled = settled_keys(found.spec, found.grid, found.state, found.until)
    shown = instance.get_materialized_partitions(key)
    missing = [each for each in settled if each not in shown]
    announce_without_run(instance, key, {each: {"sequence": found.state.seq, "rows_read": 0} for each in missing})
    return len(missing)
