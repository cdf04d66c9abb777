"""What one sensor tick decides: pure except for the queries to the source and the state of idle tables, and without Dagster's types.

The memory is disposable: it holds what was requested and reported, never what has landed. If it is lost or unreadable, it starts empty.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from incremental_assets.core.captures.capture import Observation
from incremental_assets.core.captures.log.observation import kept_by
from incremental_assets.core.checks.verdict import freshness_of
from incremental_assets.core.config.settings import Freshness, SourceConfig
from incremental_assets.core.config.terms import terms_of
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Verdict
from incremental_assets.core.planning.events import Checkpoint
from incremental_assets.core.planning.target import NO_TABLE
from incremental_assets.core.ports import Probe
from incremental_assets.core.preview.pending import Blocked, Pending, located, look_over
from incremental_assets.core.syncing.delay import delay
from incremental_assets.core.syncing.foreign_changes import look_for
from incremental_assets.core.syncing.idle import IdleTable, keep
from incremental_assets.core.syncing.looking import observe
from incremental_assets.defs.opened import Opened

VERSION = 1
_LOGS_PER_LOOK = 2.0
"""Seconds for reading the logs of copies that grew without a sync."""
_TELL_AGAIN = timedelta(hours=1)
"""An unchanged freshness is reported this often, so that the page of an asset stays current."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The sensor's cursor. `waiting`: tables whose last sync failed, how often they were requested since, and until when they wait."""

    failures: int = 0
    wait_until: float = 0.0
    error: str = ""
    waiting: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    stale: Mapping[str, str] = field(default_factory=dict)
    """Severity of each table that is not fresh."""
    told_at: float = 0.0
    told: Mapping[str, int] = field(default_factory=dict)
    """The sequence that had landed, of each table, when its freshness was last reported: Dagster shows it for the newest materialization alone."""
    verified: Mapping[str, int] = field(default_factory=dict)
    """The version, for each copy whose log grew without a sync, up to which no other writer has changed its rows."""
    announced: str = ""
    """The fingerprint of all that had landed when Dagster was last seen to show it."""
    paused: Mapping[str, str] = field(default_factory=dict)
    """What the pages of assets show of pauses."""

    @classmethod
    def read(cls, text: str | None) -> Memory:
        """The memory in a cursor's text; an empty one where there is none, or it is of another version or damaged."""
        try:
            document = json.loads(text or "")
            if document.pop("v") != VERSION:
                return cls()
            waiting = {table: (int(count), float(until)) for table, (count, until) in document.pop("waiting").items()}
            stale = {str(table): str(severity) for table, severity in document.pop("stale").items()}
            return cls(
                int(document["failures"]),
                float(document["wait_until"]),
                str(document["error"]),
                waiting,
                stale,
                float(document["told_at"]),
                {str(table): int(seq) for table, seq in document.get("told", {}).items()},
                {str(table): int(version) for table, version in document.get("verified", {}).items()},
                str(document.get("announced", "")),
                {str(table): str(sentence) for table, sentence in document.get("paused", {}).items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()

    def write(self) -> str:
        """The memory as one line of JSON."""
        document: dict[str, Any] = {
            "v": VERSION,
            "failures": self.failures,
            "wait_until": self.wait_until,
            "error": self.error,
            "waiting": dict(self.waiting),
            "stale": dict(self.stale),
            "told_at": self.told_at,
            "told": dict(self.told),
            "verified": dict(self.verified),
            "announced": self.announced,
            "paused": dict(self.paused),
        }
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)

    def of_paused(self, still: Mapping[TableId, str], tables: Sequence[TableId]) -> tuple[Memory, dict[TableId, str]]:
        """What there is to show on the pages of assets: a pause once when it begins or has another reason, and once when it is over."""
        news = {table: sentence for table, sentence in still.items() if self.paused.get(str(table)) != sentence}
        over = [table for table in tables if table not in still and str(table) in self.paused]
        now = {str(table): sentence for table, sentence in still.items()}
        return replace(self, paused=now), news | dict.fromkeys(over, "no longer paused")

    def failed(self, sentence: str, every: timedelta, now: datetime) -> Memory:
        """The source did not answer: each consecutive failure doubles the wait."""
        wait = delay(every, self.failures)
        return replace(self, failures=self.failures + 1, wait_until=now.timestamp() + wait, error=sentence)


@dataclass(frozen=True, slots=True)
class Tick:
    """What to request and what to report."""

    memory: Memory
    moved: tuple[Pending, ...] = ()
    waiting: tuple[str, ...] = ()
    stopped: tuple[Blocked, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    positions: Mapping[TableId, Checkpoint] = field(default_factory=dict)
    """What has landed, by the checkpoint table."""
    look: Look | None = None
    """What there is to keep of it; None where there was no table to look at."""


def told_of_quiet(source: SourceConfig, now: datetime) -> str:
    """Why the sensor does not look now; empty where it does."""
    ends = None if source.quiet is None else source.quiet.until(now)
    if ends is None:
        return ""
    return f"{source.name} is quiet until {ends:%Y-%m-%d %H:%M}Z (`quiet: {source.quiet}`): nobody looks at it until then, and a sync by hand or a backfill does not wait"


def look(source: SourceConfig, specs: Sequence[TableSpec], runtime: Opened, memory: Memory, now: datetime) -> Tick:
    """One look at all tables of a source. Raises SourceUnreachable, SourceRefused."""
    begun, positions = time.monotonic(), runtime.checkpoints.positions()
    looks = [ObserveRequest(spec, positions[spec.id].state if spec.id in positions else None) for spec in specs]
    probe = runtime.probe(source.name)
    observations = observe(probe, looks, runtime.observer)
    verified, changed = _copies(source, specs, positions, runtime, memory)
    # Of one whose last sync failed a run says whether it is well now, though nothing has moved.
    failing = {table for table, position in positions.items() if position.is_failing}
    moved, stopped, still = look_over(specs, positions, observations, changed | failing)
    keep(still, runtime.checkpoints)
    asked, waiting = _asked_for(
        source, located(moved, probe, lambda table: terms_of(source, table).partitions), positions, memory, now
    )
    names = {str(each.spec.id) for each in asked}
    busy = {*(each.spec.id for each in moved), *(each.table for each in stopped)}
    verdicts = _fresh(source, looks, busy, observations, probe)
    landed = _landed(verdicts, positions)
    verdicts_told, stale, told_at = _worth_telling(verdicts, landed, memory, now)
    return Tick(
        memory=Memory(
            waiting=waiting,
            stale=stale,
            told_at=told_at,
            told=landed,
            verified=verified,
            announced=memory.announced,
            paused=memory.paused,
        ),
        moved=asked,
        waiting=tuple(sorted(table for table in waiting if table not in names)),
        stopped=stopped,
        verdicts=verdicts_told,
        positions=positions,
        look=_kept(moved, stopped, still, observations, time.monotonic() - begun) if specs else None,
    )


def aged(source: SourceConfig, specs: Sequence[TableSpec], runtime: Opened, memory: Memory, now: datetime) -> Tick:
    """How fresh tables are while a run is under way, which lands some of them and lets the others wait: nothing is requested, and nothing else is kept."""
    limited = [spec for spec in specs if terms_of(source, spec.id).freshness != Freshness()]
    if not limited:
        return Tick(memory)
    positions = runtime.checkpoints.positions()
    looks = [ObserveRequest(spec, positions[spec.id].state if spec.id in positions else None) for spec in limited]
    probe = runtime.probe(source.name)
    observations = observe(probe, looks, runtime.observer)
    moved, stopped, _ = look_over(limited, positions, observations)
    verdicts = _fresh(
        source, looks, {*(each.spec.id for each in moved), *(each.table for each in stopped)}, observations, probe
    )
    landed = _landed(verdicts, positions)
    told, stale, told_at = _worth_telling(verdicts, landed, memory, now)
    return Tick(replace(memory, stale=stale, told_at=told_at, told=landed), verdicts=told)


def _kept(
    moved: Sequence[Pending],
    stopped: Sequence[Blocked],
    still: Sequence[IdleTable],
    observations: Sequence[Observation],
    seconds: float,
) -> Look:
    """What the checkpoint database keeps of a look. Of a table that is looked at in intervals it says nothing in between."""
    not_now = {each.spec.id for each in still if each.found.next_look is not None}
    behind = {*(each.spec.id for each in moved), *(each.table for each in stopped), *not_now}
    return Look(frozenset(behind), seconds, observations[0].bound.since, kept_by(observations))


def _copies(
    source: SourceConfig,
    specs: Sequence[TableSpec],
    positions: Mapping[TableId, Checkpoint],
    runtime: Opened,
    memory: Memory,
) -> tuple[dict[str, int], frozenset[TableId]]:
    """Copies that are in order though their logs grew, and those that another writer has changed."""
    known = {spec.id: memory.verified[str(spec.id)] for spec in specs if str(spec.id) in memory.verified}
    # A sync that landed since is remembered by the checkpoint table.
    known = {table: version for table, version in known.items() if _target_version(positions, table) < version}
    changed = set[TableId]()
    for spec, version, sentence in look_for(specs, positions, runtime.ports(source.name).reader, known, _LOGS_PER_LOOK):
        if sentence:
            changed.add(spec.id)
        else:
            known[spec.id] = version
    return {str(table): version for table, version in known.items()}, frozenset(changed)


def _target_version(positions: Mapping[TableId, Checkpoint], table: TableId) -> int:
    target = positions[table].target if table in positions else None
    return NO_TABLE if target is None else target.version


def _asked_for(
    source: SourceConfig,
    moved: Sequence[Pending],
    positions: Mapping[TableId, Checkpoint],
    memory: Memory,
    now: datetime,
) -> tuple[tuple[Pending, ...], dict[str, tuple[int, float]]]:
    """A table whose last sync failed is requested again, each time later, and at last once an hour: its cause may be gone."""
    asked, waiting = [], {}
    for each in moved:
        name, table = str(each.spec.id), each.spec.id
        if table not in positions or not positions[table].is_failing:
            asked.append(each)
            continue
        times, until = memory.waiting.get(name, (0, 0.0))
        if now.timestamp() < until:
            waiting[name] = (times, until)
        else:
            asked.append(each)
            waiting[name] = (times + 1, now.timestamp() + delay(source.every, times))
    return tuple(asked), waiting


def _fresh(
    source: SourceConfig,
    looks: Sequence[ObserveRequest],
    busy: Collection[TableId],
    observations: Sequence[Observation],
    probe: Probe,
) -> list[Verdict]:
    """Nothing of an idle table waits to land, so only the others are queried."""
    limits = {look.spec.id: terms_of(source, look.spec.id).freshness for look in looks}
    limited = [look for look in looks if limits[look.spec.id] != Freshness()]
    waiting = [look for look in limited if look.spec.id in busy]
    lags = dict(zip((look.spec.id for look in waiting), probe.lag(waiting) if waiting else (), strict=True))
    return [
        freshness_of(look, limits[look.spec.id], lags.get(look.spec.id, 0.0), observations[0].bound, source.quiet)
        for look in limited
    ]


def _landed(verdicts: Sequence[Verdict], positions: Mapping[TableId, Checkpoint]) -> dict[str, int]:
    states = {each.table: positions[each.table].state for each in verdicts if each.table in positions}
    return {str(table): state.seq for table, state in states.items() if state is not None}


def _worth_telling(
    verdicts: Sequence[Verdict], landed: Mapping[str, int], memory: Memory, now: datetime
) -> tuple[tuple[Verdict, ...], dict[str, str], float]:
    """Verdicts that changed since the last report, or of tables that have landed since, and once an hour all of them."""
    stale = {str(verdict.table): str(verdict.severity) for verdict in verdicts if not verdict.passed}
    if now.timestamp() - memory.told_at >= _TELL_AGAIN.total_seconds():
        return tuple(verdicts), stale, now.timestamp()
    news = [
        verdict
        for verdict in verdicts
        for table in (str(verdict.table),)
        if stale.get(table) != memory.stale.get(table) or landed.get(table) != memory.told.get(table)
    ]
    return tuple(news), stale, memory.told_at
