"""What is seen of every table: where it stands by the checkpoints, what the lake holds back, and one light look at each source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from incremental_assets.cli.selection import Selection
from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.comparing import deletes_due
from incremental_assets.core.captures.database.local_readings import zone_of
from incremental_assets.core.captures.database.stamps import of_past_stamps, of_stamps, stamps_sentence
from incremental_assets.core.captures.database.updates import UPSERT_INSTEAD, updates_not_copied
from incremental_assets.core.captures.due import next_look
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.config.settings import TableConfig
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.model.cures import check
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.objective import NO_OBJECTIVES
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.registration import Catalogue, Registered
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.budgets import Budget, budgets
from incremental_assets.core.operations.standing import Standing
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.renames import renamed_too_late
from incremental_assets.core.ports import LakeReader
from incremental_assets.core.syncing.foreign_changes import seen_in, unrecorded
from incremental_assets.core.syncing.registering import tables_of

if TYPE_CHECKING:
    from incremental_assets.resources.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Seen:
    """One table: where it stands, and what a look adds to that."""

    standing: Standing
    terms: TableConfig
    cursor: str | None
    """Its column; None where there is none, and where only the source could tell the one that numbers its transactions."""
    lag: float | None
    next_look: datetime | None
    """When a table without a cursor is looked at next: until then its lag is not known."""
    deletes_due: datetime | None
    """When deletes of a table with a cursor are looked for next: until then what is gone since the last look is not known."""
    bound: Moment | None
    error: str | None
    warnings: tuple[str, ...] = ()
    """What the next sync will stop at, or has no use for, which would stay unnoticed while the source is idle."""
    unrecorded: str = ""
    """What is said where the lake has rows of it and nobody knows of a sync; empty where somebody does."""
    held: HeldRows | None = None
    """What its contract holds; None where there is none, and where only a session could tell."""
    unfit: UnfitRows | None = None
    """What cannot land, whatever the contract; None where only a session could tell."""
    pause: Pause | None = None
    """Why a person has paused it."""
    budgets: tuple[Budget, ...] = ()
    """Of each of its objectives."""
    pruned: tuple[datetime, Pruned] | None = None
    """When it was last pruned, and of what."""
    registered: tuple[Registered, ...] = ()
    """How it, and its history, were made known to data catalogues, or why they could not be."""
    log: LogSeen | None = None
    """What the source's log says of it; None where it is not read from there, and where nobody looked."""

    @property
    def table(self) -> TableId:
        """Which it is."""
        return self.standing.table


def look_at(runtime: Runtime, found: Selection, *, offline: bool) -> list[Seen]:
    """What is seen of the selected tables, and of those that their source does not show. `offline` asks no source."""
    standings, pauses = runtime.checkpoints.standings(), runtime.checkpoints.pauses()
    prunings, registrations = runtime.checkpoints.prunings(), runtime.checkpoints.registrations()
    positions = {table: standing.position for table, standing in standings.items()}
    lags, bounds, errors = ({}, {}, {}) if offline else _look(runtime, found, positions)
    logs = {} if offline else _logs(runtime, found)
    changed = {} if offline else _of_lake(runtime, found, positions, seen_in)
    unknown = {} if offline else _of_lake(runtime, found, positions, unrecorded)
    held = _held(runtime, found)
    unfit = {spec.id: runtime.unfit(spec) for spec in found.specs}
    states = {spec.id: positions.get(spec.id, Checkpoint()).state for spec in found.specs}
    late = {spec.id: renamed_too_late(spec, states[spec.id]) for spec in found.specs}
    stamped = {
        spec.id: _of_stamps(spec, bound, states[spec.id])
        for spec in found.specs
        if isinstance(bound := bounds.get(spec.id.source), Bound)
    }
    errors |= {trouble.table: str(trouble.error) for trouble in found.troubles}
    specs = {spec.id: spec for spec in found.specs}
    due = {spec.id: next_look(spec, states[spec.id]) for spec in found.specs}
    deletes = {spec.id: deletes_due(spec, states[spec.id]) for spec in found.specs}
    shown = sorted(specs.keys() | errors.keys())
    terms = {table: terms_of(runtime.configuration.source(table.source), table) for table in shown}
    slos = {table: each.slo for table, each in terms.items() if each.slo != NO_OBJECTIVES}
    kept = runtime.checkpoints.kept(slos)
    return [
        Seen(
            standing=standings.get(table, Standing(table)),
            terms=terms[table],
            cursor=_cursor(specs[table] if table in specs else terms[table]),
            lag=None if due.get(table) else _lag(positions.get(table), lags.get(table)),
            next_look=due.get(table),
            deletes_due=deletes.get(table),
            bound=bounds.get(table.source),
            error=errors.get(table),
            warnings=(
                *filter(None, (changed.get(table), unknown.get(table))),
                *late.get(table, ()),
                *stamped.get(table, ()),
            ),
            unrecorded=unknown.get(table, ""),
            held=held.get(table),
            unfit=unfit.get(table),
            pause=pauses.of(table),
            budgets=budgets(terms[table].slo, kept[table]) if table in kept else (),
            pruned=prunings.get(table),
            registered=_registered(specs.get(table), registrations),
            log=logs.get(table),
        )
        for table in shown
    ]


def _registered(
    spec: TableSpec | None, registrations: Mapping[tuple[TableId, Catalogue], Registered]
) -> tuple[Registered, ...]:
    """Of the catalogues that the configuration still names."""
    if spec is None:
        return ()
    asked = [(table, each.kind) for table in tables_of(spec) for each in spec.register]
    return tuple(registrations[each] for each in asked if each in registrations)


def _look(
    runtime: Runtime, found: Selection, positions: dict[TableId, Checkpoint]
) -> tuple[dict[TableId, float], dict[str, Moment], dict[TableId, str]]:
    lags: dict[TableId, float] = {}
    bounds: dict[str, Moment] = {}
    errors: dict[TableId, str] = {}
    for source in runtime.configuration.sources:
        specs = found.of(source.name)
        if not specs:
            continue
        try:
            probe = runtime.probe(source.name)
            looks = [ObserveRequest(spec, positions.get(spec.id, Checkpoint()).state) for spec in specs]
            lags |= zip((spec.id for spec in specs), probe.lag(looks), strict=True)
            bounds[source.name] = probe.bound()
        except IncrementalAssetsError as error:
            errors |= {spec.id: str(error) for spec in specs}
    return lags, bounds, errors


def _logs(runtime: Runtime, found: Selection) -> dict[TableId, LogSeen]:
    """What the log says of the tables that are read from it; nothing where it cannot be looked at, which the lag says."""
    seen: dict[TableId, LogSeen] = {}
    for source in runtime.configuration.sources:
        specs = found.of(source.name)
        with suppress(IncrementalAssetsError):
            database = runtime.database(source.name) if specs and source.reads_log else None
            told = database.logs(specs) if database else ()
            seen |= {spec.id: each for spec, each in zip(specs, told, strict=False) if each is not None}
    return seen


def _held(runtime: Runtime, found: Selection) -> dict[TableId, HeldRows | None]:
    """The held rows of tables with a contract, and of tables without one that still have some; None where only a session could count them."""
    held = {spec: runtime.held(spec) for spec in found.specs}
    return {spec.id: rows for spec, rows in held.items() if spec.contract is not None or (rows and rows.rows)}


def _of_lake(
    runtime: Runtime,
    found: Selection,
    positions: dict[TableId, Checkpoint],
    ask: Callable[[TableSpec, Checkpoint, LakeReader], str],
) -> dict[TableId, str]:
    """What the logs of copies say that nobody has recorded; skips sources that do not answer."""
    said: dict[TableId, str] = {}
    for source in runtime.configuration.sources:
        specs = found.of(source.name)
        if specs:
            lake = runtime.ports(source.name).reader
            said |= {spec.id: ask(spec, positions.get(spec.id, Checkpoint()), lake) for spec in specs}
    return said


def _of_stamps(spec: TableSpec, bound: Bound, state: State | None) -> tuple[str, ...]:
    """What the source shows of its stamps, and of its updates, that the next runs can promise less for."""
    sentences = [f"{state.position.unfinished} with the next sync"] if state and state.position.unfinished else []
    if state is not None and not bound.experimental:
        doubt, past = of_stamps(spec, zone_of(spec.cursor, bound), bound.clock), of_past_stamps(spec, state)
        sentences += [stamps_sentence(spec, doubt, landed=True)] if doubt else []
        sentences += [f"{past}; {check(spec.id)} finds rows that were missed"] if past and not doubt else []
    if uncopied := updates_not_copied(spec):
        sentences.append(f"{uncopied}: {UPSERT_INSTEAD}")
    return tuple(f"{spec.id}: {sentence}" for sentence in sentences)


def _cursor(table: TableSpec | TableConfig) -> str | None:
    return next(filter(None, table.cursor_columns), None)


def _lag(position: Checkpoint | None, lag: float | None) -> float | None:
    """How far a table lags. Of one at which no sync has looked, ever or since a reset, it is known only where a row waits: 0 would say that every row has landed."""
    state = position.state if position else None
    return lag if state is not None and state.is_synced else lag or None
