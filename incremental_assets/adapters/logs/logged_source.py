"""A source some of whose tables are read from its log: the same questions and snapshots for the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from incremental_assets.adapters.databases.dialect import Address
from incremental_assets.adapters.databases.probe import SqlProbe
from incremental_assets.adapters.databases.spark_source import SparkSource
from incremental_assets.adapters.logs.batch import latest
from incremental_assets.adapters.logs.changed_keys import ChangedKeys
from incremental_assets.adapters.logs.completing import CopyRows, completed
from incremental_assets.adapters.logs.disk import IN_SEGMENTS, written_to
from incremental_assets.adapters.logs.every_change import Held, Landed, Quarantined, every_change
from incremental_assets.adapters.logs.gathering import gathered
from incremental_assets.adapters.logs.leaving import leave
from incremental_assets.adapters.logs.loaded_part import Origin, loaded_frame, loaded_parts
from incremental_assets.adapters.logs.log_of_source import Copy, Joined, Source, SourceLog
from incremental_assets.adapters.logs.log_part import LogPart
from incremental_assets.adapters.logs.scratch import scratch_file
from incremental_assets.adapters.logs.versions_file import versions_file
from incremental_assets.adapters.spark.own_names import REJECT_REASON
from incremental_assets.adapters.spark.read_part import ReadPart
from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.database.observation import DatabaseObservation, numbers
from incremental_assets.core.captures.database.parts import joined
from incremental_assets.core.captures.log.observation import LogObservation, LogSeen
from incremental_assets.core.captures.log.parts import strayed
from incremental_assets.core.captures.log.position import Join, LogPosition
from incremental_assets.core.captures.log.reading import LogReading, of_log
from incremental_assets.core.captures.log.standing import LogStanding
from incremental_assets.core.concurrency.cohort import Rank
from incremental_assets.core.concurrency.combining import Combining, Round
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.config.settings import LOG
from incremental_assets.core.errors import SourceRefused, SourceUnreachable
from incremental_assets.core.model.change_columns import as_in_source
from incremental_assets.core.model.cures import full_refresh
from incremental_assets.core.model.key_parts import KeyParts, Selected
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.schema_drift import check_names
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.estimate import Estimate
from incremental_assets.core.planning.plan import SyncPlan
from incremental_assets.core.ports import PlacedRows, Seek, Snapshot, SourceKeys

_AGAIN_SECONDS = 0.5
_FROM_LOG = Estimate(unknown="read from the log, which does not tell how much of it is this table's")


class LoggedProbe(SqlProbe):
    """Implements `core.ports.Probe`."""

    def __init__(self, address: Address, source: str, log: SourceLog) -> None:
        super().__init__(address, source)
        self._log = log

    def observe(self, looks: Sequence[ObserveRequest]) -> tuple[DatabaseObservation, ...]:
        """The same, with what the log says of its tables."""
        logged = [look.spec for look in looks if look.spec.capture == LOG]
        # Before the database's own bound: what the log has by then, a snapshot behind it shows.
        seen = iter(self._log.seen(logged)) if logged else iter(())
        plain = super().observe(looks)
        come = [
            number
            for look, found in zip(looks, plain, strict=True)
            if look.spec.capture == LOG
            for number in numbers(joined(look.state, found.parts))
        ]
        empty = self._log.empty(come) if come else frozenset()
        return tuple(
            _with_log(found, replace(next(seen), empty=empty)) if look.spec.capture == LOG else found
            for look, found in zip(looks, plain, strict=True)
        )

    def read_ahead(self, seen: Sequence[Observation]) -> tuple[Observation, ...]:
        """A part of what its log keeps, where that is more than the source is to keep."""
        logs = [each.log for each in seen if isinstance(each, LogObservation) and each.log]
        told = self._log.read_ahead() if any(each.is_overdue for each in logs) else ""
        return tuple(_told(each, told) for each in seen) if told else tuple(seen)

    def logs(self, specs: Sequence[TableSpec]) -> tuple[LogSeen | None, ...]:
        """What the log says of each."""
        logged = [spec for spec in specs if spec.capture == LOG]
        seen = iter(self._log.seen(logged) if logged else ())
        return tuple(next(seen) if spec.capture == LOG else None for spec in specs)

    def behind(self, spec: TableSpec, state: State) -> ChangedKeys:
        """What has changed of a table that is read from the log behind its copy's position."""
        return changed_keys(self._log, spec, state)

    def log_standing(self) -> LogStanding:
        """Where the log stands."""
        return self._log.standing()

    def leave_log(self, number: int) -> None:
        """Keep nothing more of it for that table."""
        leave(self._log.folder, number)

    def log_sql(self, specs: Sequence[TableSpec]) -> str:
        """What is missing in the source."""
        return self._log.missing_sql([spec for spec in specs if spec.capture == LOG])

    def estimates(self, plans: Sequence[SyncPlan]) -> tuple[Estimate, ...]:
        """Of changes nobody knows how many come before they are decoded."""
        asked = [replace(plan, spec=as_in_source(plan.spec)) for plan in plans if not plan.reading.behind]
        told = iter(super().estimates(asked) if asked else ())
        return tuple(_FROM_LOG if plan.reading.behind else next(told) for plan in plans)

    def lag(self, looks: Sequence[ObserveRequest]) -> tuple[float, ...]:
        """Of a table that is read from the log: since the last sync, where the log has gone on."""
        logged = [look for look in looks if look.spec.capture == LOG]
        seen = iter(self._log.seen([look.spec for look in logged]) if logged else ())
        return tuple(
            0.0 if look.spec.capture == LOG and _is_there(look, next(seen)) else lag
            for look, lag in zip(looks, super().lag(looks), strict=True)
        )


def changed_keys(log: Source, spec: TableSpec, state: State) -> ChangedKeys:
    """Asked before a comparison, which may begin once it is there. Raises SourceUnreachable, SourceRefused."""
    at = state.position
    if not isinstance(at, LogPosition):
        raise TypeError(f"{spec.id} is not read from a log: {type(at).__name__}")
    return ChangedKeys(log, as_in_source(spec), at, log.shown())


def _is_there(look: ObserveRequest, seen: LogSeen) -> bool:
    at = look.state.position if look.state else None
    return isinstance(at, LogPosition) and at.lsn is not None and seen.flushed == at.lsn


def _told(seen: Observation, sentence: str) -> Observation:
    if not isinstance(seen, LogObservation) or seen.log is None:
        return seen
    return replace(seen, log=replace(seen.log, warnings=(*seen.log.warnings, sentence)))


def _with_log(found: DatabaseObservation, seen: LogSeen) -> LogObservation:
    return LogObservation(**{each.name: getattr(found, each.name) for each in fields(found)}, log=seen)


@dataclass(frozen=True)
class Read:
    """Implements `core.ports.Snapshot` and `core.captures.log.reading.LogSnapshot`."""

    rows: int
    rejected: int
    parts: tuple[ReadPart, ...] | None
    end: int
    join: Join | None
    opened: Callable[[], Any]
    keys: SourceKeys | None = None
    selected: Selected | None = None
    goes_on: bool = False
    strays: int = 0

    @property
    def frame(self) -> Any:
        """Of a load alone."""
        return self.opened()


def _without(places: KeyParts, moved: AbstractSet[int]) -> KeyParts:
    return replace(places, numbers=(places.numbers or frozenset()) - moved)


def _of_load(plan: SyncPlan, taken: Snapshot, joined: Joined) -> Read:
    origin = Origin(joined.position, plan.reading.clock)
    return Read(
        taken.rows,
        taken.rejected,
        loaded_parts(taken.parts, plan.spec, origin),
        joined.position,
        joined.join,
        lambda: loaded_frame(taken.frame, plan.spec, origin),
    )


class LoggedSource:
    """Implements `core.ports.Source`."""

    def __init__(self, inner: SparkSource, log: Source, copy: Landed) -> None:
        self._inner, self._log, self._copy = inner, log, copy
        self._reads = Combining[Copy, None](self._read_for, Rank.SNAPSHOT)

    def snapshot(self, plan: SyncPlan) -> AbstractContextManager[Snapshot]:
        """The changes behind the plan's position, or the whole table under a snapshot that the log is joined with."""
        if not isinstance(plan.reading, LogReading):
            return self._inner.snapshot(plan)
        return self._loaded(plan) if plan.reading.begin is None else self._changed(plan)

    @property
    def differing(self) -> LoggedSource:
        """Itself: a database can be compared."""
        return self

    @contextmanager
    def compared(self, plan: SyncPlan, seek: Seek) -> Iterator[Snapshot]:
        """As the database does; of a table that is read from the log without the rows that have changed behind its position, which the log brings."""
        if not isinstance(plan.reading, LogReading) or plan.previous is None:
            with self._inner.compared(plan, seek) as taken:
                yield taken
            return
        self._check_two_sessions(plan)
        changed = changed_keys(self._log, plan.spec, plan.previous)

        def unchanged(rows: PlacedRows) -> Selected:
            found = seek(rows)
            if found.places is None or found.vanished is None:
                raise SourceRefused(
                    f"{plan.spec.id}: more rows differ from the source than are read again one by one; read everything again with {full_refresh(plan.spec)}"
                )
            moved = changed.among(found.places.numbers or frozenset())
            return replace(found, places=_without(found.places, moved), vanished=_without(found.vanished, moved))

        with self._inner.compared(plan, unchanged) as taken:
            end = plan.reading.begin or 0
            yield Read(
                taken.rows,
                taken.rejected,
                taken.parts,
                end,
                plan.reading.join,
                lambda: taken.frame,
                taken.keys,
                taken.selected,
            )

    @contextmanager
    def _loaded(self, plan: SyncPlan) -> Iterator[Read]:
        self._check_two_sessions(plan)
        begun = self._log.begin(plan.spec)
        until = time.monotonic() + self._log.patience
        while True:
            with ExitStack() as opened:
                taken = opened.enter_context(self._inner.snapshot(replace(plan, spec=as_in_source(plan.spec))))
                joined = self._log.join(begun, taken.visible)
                if joined is not None:
                    yield _of_load(plan, taken, joined)
                    return
            this_process.refuse(plan.spec.id)
            if time.monotonic() > until:
                raise self._held_up(plan)
            time.sleep(_AGAIN_SECONDS)

    @contextmanager
    def _changed(self, plan: SyncPlan) -> Iterator[Read]:
        check_names(plan.spec)
        reading = of_log(plan)
        self._read(Copy(plan.spec, reading.number, reading.begin or 0), reading)
        found, join = gathered(self._log.shelf, plan), reading.join
        join = None if join is None or found.end >= join.written else join
        if found.changes is None:
            yield Read(0, 0, (), found.end, join, self._no_frame)
            return
        strays = strayed(plan, found.parts)
        rows = self._rows(plan, found.changes)
        with scratch_file(self._log.folder / "scratch") as path:
            with written_to(path.parent, IN_SEGMENTS):
                pq.write_table(rows, path, compression="zstd", compression_level=1)
            rejected = len(rows) - rows.column(REJECT_REASON).null_count
            part = LogPart(str(path), path.stat().st_size)
            yield Read(
                len(rows),
                rejected,
                (part,),
                found.end,
                join,
                self._no_frame,
                goes_on=found.goes_on,
                strays=strays,
            )

    def _read(self, copy: Copy, reading: LogReading) -> None:
        if reading.moves:
            self._log.read_elsewhere(copy)
        elif reading.untold:
            # What was written to a partition before it left comes before the comparison that is owed: also what is not on disk yet.
            self._log.read_to_now(copy)
        else:
            self._reads.ask([copy])

    def _read_for(self, copies: Round[Copy, None]) -> None:
        """Once for all tables that come to it at the same time, as a read is for all that are followed."""
        unknown = self._log.read_on([copy for copy, _ in copies])
        for copy, answer in copies:
            if copy.number in unknown:
                answer.set_exception(unknown[copy.number])
            else:
                answer.set_result(None)

    def _check_two_sessions(self, plan: SyncPlan) -> None:
        if self._log.address.budget.is_single:
            raise SourceRefused(
                f"{plan.spec.id}: while a table is loaded or repaired beside the log, its snapshot and the log are asked at once; write `parallel: {{connections: 2}}` or more"
            )

    def _rows(self, plan: SyncPlan, changes: pa.Table) -> pa.Table:
        if plan.spec.traits.keeps_versions:
            return every_change(plan.spec, changes, self._copy)
        seq = plan.previous.seq if plan.previous else 0
        return completed(plan, latest(changes, plan.spec.key), partial(self._copy.standing, seq))

    def _held_up(self, plan: SyncPlan) -> SourceUnreachable:
        return SourceUnreachable(
            f"{plan.spec.id}: no snapshot could be joined with the log within {self._log.patience:.0f} seconds, as {self._log.held_up()}"
        )

    @staticmethod
    def _no_frame() -> Any:
        raise SourceRefused(
            "changes of a log are read by tasks on this machine: sync its tables by a session or an engine of the same machine"
        )


class LoggedBySource:
    """Implements `logs.registry.Logged`."""

    def __init__(self, log: SourceLog) -> None:
        self.log = log

    def probe(self, source: str) -> LoggedProbe:
        """Connects with the first question."""
        return LoggedProbe(self.log.address, source, self.log)

    def source(self, inner: SparkSource, copy: CopyRows, quarantined: Quarantined, held: Held) -> LoggedSource:
        """Tables that have another capture are read as before."""
        return LoggedSource(inner, self.log, Landed(copy, quarantined, held))

    def versions(self, spec: TableSpec, state: State, copy: CopyRows) -> AbstractContextManager[str] | None:
        """In a file of its own."""
        at = state.position
        if spec.capture != LOG or not isinstance(at, LogPosition) or at.behind is None:
            return None
        return versions_file(self.log, spec, at, copy)
