"""Has the source changed? One sensor per source, with light queries and without Spark.

It asks for one run per partition scheme and range of partitions, tagged `mode: sync`. No `run_key`: Dagster remembers the key of a
failed run too, and would never run it again; the checkpoint table knows what has landed.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Self

from dagster import (
    AddDynamicPartitionsRequest,
    AssetObservation,
    DagsterInstance,
    DefaultSensorStatus,
    RunRequest,
    SensorDefinition,
    SensorEvaluationContext,
    SensorResult,
    SkipReason,
    sensor,
)

from incremental_assets.core.config.resolve import Resolved, gone
from incremental_assets.core.errors import IncrementalAssetsError, sentence
from incremental_assets.core.model.cures import resume
from incremental_assets.core.model.look import Look
from incremental_assets.core.model.pause import Pauses
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.preview.pending import Blocked, Pending, is_of_no_row, new_keys, partition_keys
from incremental_assets.core.preview.stopped import record_stopped
from incremental_assets.core.words import agreeing, counted
from incremental_assets.defs.announced import Announced, CatchUp, catch_up, fingerprint
from incremental_assets.defs.awaited import announce_awaited
from incremental_assets.defs.checks import RANGE_TAGS
from incremental_assets.defs.following import asked_to_follow
from incremental_assets.defs.in_flight import in_flight
from incremental_assets.defs.jobs import Jobs
from incremental_assets.defs.looking import looks
from incremental_assets.defs.names import plain
from incremental_assets.defs.opened import Opened, opened
from incremental_assets.defs.partitions import Scheme
from incremental_assets.defs.tables import View
from incremental_assets.defs.tags import FIRST_TAG, MODE_TAG
from incremental_assets.defs.tick import Memory, Tick, aged, look, told_of_quiet
from incremental_assets.defs.verdicts import evaluations

SOURCE_TAG = "incremental_assets/source"
ANNOUNCING = 15.0
"""Seconds that a look gives to what has landed and is not shown, of the sixty that Dagster gives to a look."""
_LONG = timedelta(minutes=1)
"""A run that is under way for longer lets what it does not land grow older than people may see."""


def sync_sensor(view: View, jobs: Jobs) -> SensorDefinition:
    """Looks at the source at each interval `every`, and requests runs of what has changed. `jobs` are those of the definitions themselves."""

    @sensor(
        name=plain("sync", view.name, "sensor"),
        jobs=list(jobs.values()),
        minimum_interval_seconds=max(1, round(view.config.every.total_seconds())),
        default_status=DefaultSensorStatus.RUNNING,
        required_resource_keys={view.resource},
        metadata=view.place,
        description=f"Checks which tables of {view.name} have changed, and requests runs for them.",
    )
    def tick(context: SensorEvaluationContext) -> SensorResult:
        """Looks until something has changed, a few times at most: see `looking`."""
        begun, cursor, found = datetime.now(UTC), context.cursor, SensorResult()
        with closing(looks(view.config.every, context.instance.get_settings("sensors"))) as times:
            for _ in times:
                found, is_over = _look(context, view, jobs, cursor)
                cursor = found.cursor or cursor
                if is_over:
                    break
        requests = asked_to_follow(found.run_requests or (), view.config.every, begun)
        # The cursor is that of the looks before, where the last one only met a run.
        return found._replace(cursor=cursor, run_requests=requests)

    return tick


@dataclass(frozen=True)
class _Paused:
    """What a person has paused of a source, as a tick tells it. `memory` has it."""

    still: Mapping[TableId, str]
    told: Sequence[AssetObservation]
    """What is news of it, for the pages of the assets."""
    memory: Memory

    @classmethod
    def of(cls, view: View, pauses: Pauses, memory: Memory) -> Self:
        still = {known.id: pause.sentence for known in view.tables if (pause := pauses.of(known.id))}
        after, news = memory.of_paused(still, [known.id for known in view.tables])
        told = [
            AssetObservation(view.keys.of(table), description=sentence, metadata={"paused": sentence})
            for table, sentence in news.items()
        ]
        return cls(still, told, after)

    @property
    def blocked(self) -> list[Blocked]:
        """A sentence for each."""
        return [Blocked(table, f"{table}: {sentence}") for table, sentence in self.still.items()]


def _look(context: SensorEvaluationContext, view: View, jobs: Jobs, cursor: str | None) -> tuple[SensorResult, bool]:
    """One look, unless a sync of this source is in progress or the source is given a pause; and whether the tick has something to tell."""
    runtime = opened(context.resources, view.resource)
    now, memory = datetime.now(UTC), Memory.read(cursor)
    try:
        pauses = runtime.checkpoints.pauses()
    except IncrementalAssetsError as error:
        return _failed(error, runtime, view, memory, now), True
    paused = _Paused.of(view, pauses, memory)
    if whole := pauses.of_source(view.name):
        # It is not asked either: that may be why it is paused.
        reason = SkipReason(f"{view.name}: {whole.sentence}; {resume(whole)} lets it go on")
        return SensorResult(skip_reason=reason, cursor=paused.memory.write(), asset_events=paused.told), True
    if quiet := told_of_quiet(view.config, now):
        return _skipped(quiet), True
    if now.timestamp() < memory.wait_until:
        until = datetime.fromtimestamp(memory.wait_until, UTC)
        return _skipped(f"{memory.error} (failed {memory.failures} times; tried again at {until:%H:%M:%S}Z)"), True
    running = in_flight(context.instance, sync_tags(view), runtime)
    if running:
        return _meanwhile(context, view, paused, running, now)
    return _looked(context, view, jobs, paused, now)


def _meanwhile(
    context: SensorEvaluationContext, view: View, paused: _Paused, running: str, now: datetime
) -> tuple[SensorResult, bool]:
    """The run has its source for itself. What waits for one that takes long grows older, which people are to see."""
    skipped = _skipped(f"run {running} is still syncing {view.name}")
    record = context.instance.get_run_record_by_id(running)
    if record is None or now - record.create_timestamp < _LONG:
        return skipped, False
    runtime = opened(context.resources, view.resource)
    try:
        specs = _defined(view, paused, runtime.specs(view.name))
        seen = aged(view.config, specs, runtime, paused.memory, now)
    except IncrementalAssetsError:
        # The run meets the same, and says it.
        return skipped, False
    told = evaluations(context.instance, seen.verdicts, view.keys)
    found = skipped._replace(cursor=seen.memory.write(), asset_events=[*paused.told, *told])
    return found, bool(paused.told or told)


def _defined(view: View, paused: _Paused, resolved: Resolved) -> list[TableSpec]:
    """The tables that Dagster knows and nobody has paused."""
    defined = {known.id for known in view.tables}
    return [spec for spec in resolved.specs if spec.id in defined and spec.id not in paused.still]


def _looked(
    context: SensorEvaluationContext, view: View, jobs: Jobs, paused: _Paused, now: datetime
) -> tuple[SensorResult, bool]:
    """The look itself, at what is not paused."""
    runtime, still = opened(context.resources, view.resource), paused.still
    try:
        resolved = runtime.specs(view.name)
        specs = _defined(view, paused, resolved)
        seen = look(view.config, specs, runtime, paused.memory, now)
    except IncrementalAssetsError as error:
        failed = _failed(error, runtime, view, paused.memory, now)
        return failed._replace(asset_events=[*paused.told]), True
    defined = {known.id for known in view.tables}
    new = sorted(str(spec.id) for spec in resolved.specs if spec.id not in defined)
    seen, shown = _announced(context, view, specs, seen, runtime)
    moved = {each.spec.id for each in seen.moved}
    shown += announce_awaited(context, view, {spec.id: spec for spec in specs}, seen.positions, moved)
    requests, dynamic, without = run_requests(view, jobs, seen.moved, context.instance, now)
    met = {*(spec.id for spec in resolved.specs), *(problem.table for problem in resolved.problems)}
    stopped = (
        *seen.stopped,
        *without,
        *(Blocked(problem.table, str(problem.error)) for problem in resolved.problems),
        *(Blocked(table, str(gone(table))) for table in sorted(defined - met)),
    )
    record_stopped(
        stopped, {known.id: known.terms.strategy for known in view.tables}, seen.positions, runtime.checkpoints
    )
    if seen.look is not None:
        unknown = (spec.id for spec in resolved.specs if spec.id not in defined)
        not_seen = {*(each.table for each in stopped), *unknown, *still}
        within = {known.id: slo.within for known in view.tables if (slo := known.terms.slo.freshness)}
        _keep(runtime, view, replace(seen.look, behind=seen.look.behind | not_seen, within=within))
    for said in shown:
        context.log.info("%s", said)
    if requests:
        # A tick that requests runs has no reason to show.
        for each in (*stopped, *paused.blocked):
            context.log.warning("%s", each.sentence)
    result = SensorResult(
        run_requests=requests,
        skip_reason=None if requests else SkipReason(_skip_reason(seen, (*stopped, *paused.blocked), new)),
        cursor=seen.memory.write(),
        dynamic_partitions_requests=dynamic,
        asset_events=[*paused.told, *evaluations(context.instance, seen.verdicts, view.keys)],
    )
    return result, bool(requests or dynamic or seen.verdicts or paused.told)


def _failed(error: IncrementalAssetsError, runtime: Opened, view: View, memory: Memory, now: datetime) -> SensorResult:
    """The source did not answer, or the checkpoint table did not: both are given a pause."""
    _keep(runtime, view, None)
    failed = memory.failed(str(error), view.config.every, now)
    return SensorResult(skip_reason=SkipReason(str(error)), cursor=failed.write())


def _keep(runtime: Opened, view: View, look: Look | None) -> None:
    """For those who watch; a tick does without."""
    with suppress(IncrementalAssetsError):
        runtime.checkpoints.record_look(view.name, look)


def _announced(
    context: SensorEvaluationContext, view: View, specs: Sequence[TableSpec], seen: Tick, runtime: Opened
) -> tuple[Tick, list[str]]:
    """Announce what has landed and Dagster does not show; of a table that moved its run does. Nothing is asked while nothing lands."""
    schemes = {known.id: known.scheme for known in view.tables}
    landed = fingerprint({spec.id: schemes[spec.id] for spec in specs}, seen.positions, view.keys)
    if seen.memory.announced == landed:
        return seen, []
    moved = {each.spec.id for each in seen.moved}
    catching = CatchUp.of_tick(context.instance, runtime.ports(view.name), view.keys, within=ANNOUNCING)
    marks = Announced(context.instance, view.keys)
    still = [spec for spec in specs if spec.id not in moved]
    sentences, is_all = catch_up(marks, catching, still, schemes, seen.positions)
    # A run of those that moved is yet to come, and what it lands is another fingerprint.
    is_all = is_all and not marks.behind({table: schemes[table] for table in moved}, seen.positions)
    return replace(seen, memory=replace(seen.memory, announced=landed if is_all else "")), sentences


def _skipped(reason: str) -> SensorResult:
    return SensorResult(skip_reason=SkipReason(reason))


def sync_tags(view: View) -> dict[str, str]:
    """The tags that distinguish a sync of this source from every other run."""
    return {MODE_TAG: str(Mode.SYNC), SOURCE_TAG: view.name}


def run_requests(
    view: View, jobs: Jobs, moved: Sequence[Pending], instance: DagsterInstance, now: datetime
) -> tuple[list[RunRequest], list[AddDynamicPartitionsRequest], list[Blocked]]:
    """One run per scheme and range of partitions: a table that lags behind does not announce another table's months again."""
    schemes = {known.id: known.scheme for known in view.tables}
    groups: dict[tuple[Scheme, str, str], list[TableId]] = {}
    dynamic: list[AddDynamicPartitionsRequest] = []
    stopped: list[Blocked] = []
    for each in moved:
        table, scheme = each.spec.id, schemes[each.spec.id]
        known = instance.get_dynamic_partitions(scheme.dynamic) if scheme.dynamic else ()
        if is_of_no_row(scheme.grid, each, known):
            instance.delete_dynamic_partition(scheme.dynamic, known[0])
            known = ()
        try:
            keys = partition_keys(scheme.grid, each, now, known)
            added = new_keys(scheme.grid, each, keys, known)
        except Exception as error:  # noqa: BLE001 - one failure must not stop the other tables
            stopped.append(Blocked(table, f"{table}: {sentence(error)}"))
            continue
        if not keys:
            stopped.append(Blocked(table, f"{table}: its partitions begin in the future; begin earlier with `from`"))
            continue
        if added:
            dynamic.append(AddDynamicPartitionsRequest(scheme.dynamic, list(added)))
        groups.setdefault((scheme, keys[0], keys[-1]), []).append(table)
    requests = [
        RunRequest(
            job_name=jobs[scheme].name,
            asset_selection=view.asset_keys(sorted(tables)),
            # Written, not left out: Dagster adds the checks of selected assets even to a job that was defined without them.
            asset_check_keys=[],
            # Of the last partition: of each that is requested Dagster stores an event, in a transaction of its own, before the run begins.
            tags={**sync_tags(view), **dict.fromkeys(RANGE_TAGS, last), FIRST_TAG: first},
        )
        for (scheme, first, last), tables in groups.items()
    ]
    return requests, dynamic, stopped


def _skip_reason(seen: Tick, stopped: Sequence[Blocked], new: Sequence[str]) -> str:
    """Why there is nothing to run, for the tick's history."""
    reasons = ["nothing changed"] if not (seen.waiting or stopped) else []
    reasons += [f"{table} failed last time and waits" for table in seen.waiting]
    reasons += [each.sentence for each in stopped]
    if new:
        reasons.append(
            f"{counted(len(new), 'table')} {agreeing(len(new), 'is', 'are')} new ({', '.join(new[:5])}{', …' if len(new) > 5 else ''}): reload the code location to see them"
        )
    return "; ".join(reasons)
