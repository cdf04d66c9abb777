"""What was announced to Dagster of each table, against what has landed: the partitions of a run that was killed behind its commit, or of a lake beside a new home.

For each asset the instance keeps a mark: the sequence whose landing was announced last. Where the mark is that of the position, nothing is asked. Where it is another one, the
partitions that Dagster shows are compared with those that have landed, and the missing ones are announced together.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic

from dagster import AssetExecutionContext, AssetKey, DagsterInstance, RunsFilter

from incremental_assets.core.checks.shown import Extent, landed_keys
from incremental_assets.core.errors import IncrementalAssetsError, sentence_of
from incremental_assets.core.model.cursor import CursorValue
from incremental_assets.core.model.history import History
from incremental_assets.core.model.number_keys import IntegerGrid, is_too_wide
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.ports import Ports
from incremental_assets.core.preview.pending import Pending, located, new_keys, partition_keys
from incremental_assets.core.words import agreeing, counted
from incremental_assets.defs import metadata
from incremental_assets.defs.announcing import announce, announce_without_run
from incremental_assets.defs.in_flight import IN_FLIGHT
from incremental_assets.defs.metadata import Metadata
from incremental_assets.defs.names import AssetKeys
from incremental_assets.defs.partitions import Scheme, offer

_NAME = "incremental_assets/announced/"

Announce = Callable[[AssetKey, Mapping[str, Metadata]], None]


def mark_of(scheme: Scheme, position: Checkpoint) -> str:
    """What has landed, in the partitions that it is shown in; empty for nothing."""
    state = position.state
    return f"{scheme.name} {state.app_id} {state.seq}" if state else ""


def fingerprint(schemes: Mapping[TableId, Scheme], positions: Mapping[TableId, Checkpoint], keys: AssetKeys) -> str:
    """One text for the marks of many tables, under the names that their assets have now."""
    marks = sorted(
        f"{keys.of(table).to_string()} {mark_of(scheme, positions[table])}"
        for table, scheme in schemes.items()
        if table in positions
    )
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Announced:
    """The marks of one instance, by the names of assets: one that is renamed has been announced of nothing."""

    instance: DagsterInstance
    keys: AssetKeys

    def behind(self, schemes: Mapping[TableId, Scheme], positions: Mapping[TableId, Checkpoint]) -> frozenset[TableId]:
        """The tables of which something landed that Dagster may not have been told; one statement for all of them."""
        landed = {
            table: mark
            for table, scheme in schemes.items()
            if (mark := mark_of(scheme, positions.get(table, Checkpoint())))
        }
        if not landed:
            return frozenset()
        kept = self.instance.daemon_cursor_storage.get_cursor_values({self._name(table) for table in landed})
        return frozenset(table for table, mark in landed.items() if kept.get(self._name(table)) != mark)

    def remember(self, table: TableId, scheme: Scheme, position: Checkpoint) -> None:
        """All that has landed of a table was announced."""
        self.instance.daemon_cursor_storage.set_cursor_values({self._name(table): mark_of(scheme, position)})

    def _name(self, table: TableId) -> str:
        return _NAME + self.keys.of(table).to_string()


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Announces what has landed and Dagster does not show. `announce`: by the run that is under way, or by none."""

    instance: DagsterInstance
    ports: Ports
    keys: AssetKeys
    announce: Announce
    within: float = math.inf
    """No table but the first is begun after so many seconds: a lake of thousands beside a new home takes longer than a look may."""

    @classmethod
    def of_run(cls, context: AssetExecutionContext, ports: Ports, keys: AssetKeys) -> CatchUp:
        """By a run, whose partitions Dagster has."""
        return cls(context.instance, ports, keys, lambda key, partitions: announce(context, key, partitions))

    @classmethod
    def of_tick(cls, instance: DagsterInstance, ports: Ports, keys: AssetKeys, *, within: float = math.inf) -> CatchUp:
        """By a look, without a run."""

        def without_run(key: AssetKey, partitions: Mapping[str, Metadata]) -> None:
            announce_without_run(instance, key, partitions)

        return cls(instance, ports, keys, without_run, within)

    def table(self, spec: TableSpec, scheme: Scheme, position: Checkpoint) -> int:
        """One table; how many partitions were announced. Raises IncrementalAssetsError where that cannot be known now."""
        state, report = position.state, position.last_report
        if state is None:
            return 0
        known = self.instance.get_dynamic_partitions(scheme.dynamic) if scheme.dynamic else ()
        begins = self._begins(spec, scheme)
        extent = Extent(datetime.now(UTC), begins, known or self._laid(spec, scheme, state, begins))
        try:
            landed = landed_keys(spec, scheme.grid, state, extent)
        except IncrementalAssetsError:
            # On other terms than it has now, or with more partitions than can be shown: a sync of it says so.
            landed = ()
        done = 0
        if landed:
            of_copy = metadata.of_landed(spec, state.seq, report, self.ports.reader.rows(spec))
            of_history = {"sequence": state.seq}
            offer(self.instance, scheme, [*extent.known, *(each for each in landed if each not in extent.known)])
            said = {self.keys.of(spec.id): of_copy}
            if spec.history is not History.NONE:
                said[self.keys.of(spec.id.history)] = of_history
            for key, entries in said.items():
                done += self._missing(key, landed, entries)
        Announced(self.instance, self.keys).remember(spec.id, scheme, position)
        return done

    def _begins(self, spec: TableSpec, scheme: Scheme) -> CursorValue | None:
        """Where the rows begin: in the copy, which keeps what its source may no longer have; else in the source."""
        if scheme.grid is None or spec.read_by is None:
            return None
        found = self.ports.auditor.lowest(spec)
        return self.ports.source_rows(spec).lowest([spec])[0] if found is None else found

    def _laid(self, spec: TableSpec, scheme: Scheme, state: State, begins: CursorValue | None) -> Sequence[str]:
        """Keys of numbers that lie too far apart for one grid, as a first sync lays them; none for other tables."""
        grid, reached = scheme.grid, state.position.max_cursor_read
        if not isinstance(grid, IntegerGrid) or begins is None or reached is None:
            return ()
        if not is_too_wide(grid, int(begins.text), int(reached.text)):
            return ()
        (seen,) = self.ports.probe.observe([ObserveRequest(spec, state)])
        (found,) = located([Pending(spec, Window(None, None), seen)], self.ports.probe, lambda _: grid)
        return new_keys(grid, found, partition_keys(grid, found, datetime.now(UTC)), ())

    def _missing(self, key: AssetKey, landed: Sequence[str], entries: Metadata) -> int:
        shown = self.instance.get_materialized_partitions(key)
        missing = [each for each in landed if each not in shown]
        if missing:
            self.announce(key, dict.fromkeys(missing, entries))
        return len(missing)


def said(spec: TableSpec, done: int) -> str:
    """What was announced of a table, in one sentence."""
    return f"{spec.id}: {counted(done, 'partition')} had landed and {agreeing(done, 'was', 'were')} not shown; Dagster shows {agreeing(done, 'it', 'them')} now"


def in_runs(instance: DagsterInstance, tables: Iterable[TableId], keys: AssetKeys) -> frozenset[TableId]:
    """Those of the tables that a run is at work on, or may be: it announces what it lands by itself."""
    running = [record.dagster_run for record in instance.get_run_records(RunsFilter(statuses=IN_FLIGHT))]
    return frozenset(
        table
        for table in tables
        if any(run.asset_selection is None or keys.of(table) in run.asset_selection for run in running)
    )


def catch_up(
    marks: Announced,
    catching: CatchUp,
    specs: Collection[TableSpec],
    schemes: Mapping[TableId, Scheme],
    positions: Mapping[TableId, Checkpoint],
) -> tuple[list[str], bool]:
    """A sentence for each of the tables of which something was announced, and for each that could not be; whether Dagster shows all now.

    They come in any order, so that those which cannot be announced do not keep the others from it look after look.
    """
    waiting = set(marks.behind({spec.id: schemes[spec.id] for spec in specs}, positions))
    busy = in_runs(marks.instance, waiting, catching.keys) if waiting else frozenset()
    free, sentences, begun = waiting - busy, [], monotonic()
    wanted = [spec for spec in specs if spec.id in free and positions[spec.id].open is None]
    for number, spec in enumerate(random.sample(wanted, len(wanted))):
        if number and monotonic() - begun >= catching.within:
            break
        try:
            done = catching.table(spec, schemes[spec.id], positions[spec.id])
            waiting.remove(spec.id)
        except IncrementalAssetsError as error:
            sentences.append(sentence_of(spec.id, error))
            continue
        if done:
            sentences.append(said(spec, done))
    return sentences, not waiting
