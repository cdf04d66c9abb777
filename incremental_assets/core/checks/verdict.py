"""Makes a verdict of measures: fresh, free of duplicates, equal to the source, with its columns. Pure; `run_checks.py` runs the queries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from incremental_assets.core.captures.database.comparing import deletes_due
from incremental_assets.core.captures.due import next_look
from incremental_assets.core.checks.cure import of_schema
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.row_by_row import NAMED
from incremental_assets.core.config.settings import Freshness, TableConfig
from incremental_assets.core.model.cures import full_refresh_of, sync
from incremental_assets.core.model.history import FaultyKeys
from incremental_assets.core.model.measure import Duplicates
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.quiet import QuietTime
from incremental_assets.core.model.schema_drift import Difference
from incremental_assets.core.model.state import State
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.model.window import Window
from incremental_assets.core.words import age, agreeing, counted


def freshness_of(
    request: ObserveRequest, limits: Freshness, lag: float, bound: Moment, quiet: QuietTime | None = None
) -> Verdict:
    """What can be said of one table, whichever way it is followed; `lag` as a look found it. Quiet time counts for no limit, which the verdict says."""
    due, clock = next_look(request.spec, request.state), bound.clock
    waits = lag if due is None else max(0.0, (clock - due).total_seconds())
    rested = _rested(waits, clock, quiet)
    if due is not None:
        found = _at_intervals(request.spec.id, limits, due, clock, rested)
    else:
        found = _followed(request, limits, (waits, rested), bound, quiet)
    return found if quiet is None else _beside_quiet(found, rested, quiet, clock)


def _rested(lag: float, clock: datetime, quiet: QuietTime | None) -> float:
    """The part of it that was quiet."""
    if quiet is None or lag <= 0:
        return 0.0
    return quiet.within(clock - timedelta(seconds=lag), clock).total_seconds()


def _beside_quiet(found: Verdict, rested: float, quiet: QuietTime, clock: datetime) -> Verdict:
    told, ends = [found.detail], quiet.until(clock)
    if rested > 0:
        told.append(f"not counted: {age(rested)} of the quiet time {quiet}, in which no sensor looks")
    if ends is not None:
        told.append(f"the source is quiet until {ends:%H:%M}Z")
    return replace(found, detail="; ".join(told))


def _followed(
    request: ObserveRequest, limits: Freshness, lag: tuple[float, float], bound: Moment, quiet: QuietTime | None
) -> Verdict:
    spec, state = request.spec, request.state
    if state is not None and not state.is_synced:
        return unchecked(spec.id, Check.FRESHNESS, unfinished(spec.id, state) or _nobody_looked(spec.id))
    waits, rested = lag
    found = freshness(spec.id, limits, waits, bound if spec.read_by is not None else None, rested=rested)
    if state is None and found.passed:
        # Without a row that waits, its words would be that every row has landed.
        return nothing_landed(spec.id, Check.FRESHNESS)
    looked = deletes_due(spec, state)
    if looked is None:
        return found
    late = (bound.clock - looked).total_seconds()
    return _beside_deletes(found, limits, late, _rested(late, bound.clock, quiet))


def freshness(
    table: TableId, limits: Freshness, lag: float, bound: Moment | None = None, *, rested: float = 0.0
) -> Verdict:
    """`lag`: age of the oldest row that has not landed, of which `rested` counts for no limit. `bound`: shows what holds the watermark back, which is a separate warning."""
    counts = lag - rested
    exceeded = next(
        (limit for limit in (limits.fail, limits.warn) if limit is not None and counts > limit.total_seconds()), None
    )
    nearest = exceeded or limits.warn or limits.fail
    threshold = nearest.total_seconds() if nearest else None
    if exceeded is not None:
        severity = Severity.ERROR if exceeded == limits.fail else Severity.WARN
        detail = f"the oldest row that has not landed is {age(lag)} old, more than {age(exceeded.total_seconds())}"
        return Verdict(
            table, Check.FRESHNESS, passed=False, severity=severity, detail=detail, measured=counts, threshold=threshold
        )
    held = _held_back(limits, bound) if bound else ""
    landed = f"the oldest row that has not landed is {age(lag)} old" if lag else "every row that can land has landed"
    detail = f"{landed}; {held}" if held else landed
    return Verdict(
        table,
        Check.FRESHNESS,
        passed=not held,
        severity=Severity.WARN,
        detail=detail,
        measured=counts,
        threshold=threshold,
    )


def _beside_deletes(found: Verdict, limits: Freshness, late: float, rested: float) -> Verdict:
    """Of a table whose deletes are looked for at intervals: rows that are gone since the last look are not known."""
    if late <= 0:
        return replace(found, detail=f"{found.detail}; deletes are looked for in {age(-late)}")
    overdue = freshness(found.table, limits, late, rested=rested)
    worse = overdue if found.passed and not overdue.passed else found
    return replace(worse, detail=f"{found.detail}; deletes should have been looked for {age(late)} ago")


def _at_intervals(table: TableId, limits: Freshness, due: datetime, clock: datetime, rested: float) -> Verdict:
    """Of a table that is looked at only when it is due: what has changed since is not known, so it counts from then on."""
    late = (clock - due).total_seconds()
    if late > 0:
        found = freshness(table, limits, late, rested=rested)
        return replace(found, detail=f"the table should have been looked at {age(late)} ago")
    wait = age(-late)
    nearest = limits.warn or limits.fail
    return Verdict(
        table,
        Check.FRESHNESS,
        passed=True,
        severity=Severity.WARN,
        detail=f"not looked at since it was read last: the next look is in {wait}",
        measured=0.0,
        threshold=nearest.total_seconds() if nearest else None,
    )


def duplicates(spec: TableSpec, terms: TableConfig, found: Duplicates) -> Verdict:
    """No key occurs twice."""
    key = ", ".join(spec.named_key)
    detail = (
        f"{counted(found.keys, 'key')} ({key}) {agreeing(found.keys, 'is', 'are')} there more than once, {counted(found.rows, 'row')} too many"
        if found.keys
        else f"no key ({key}) is there twice"
    )
    samples = shown(spec, terms, found.samples)
    return Verdict(
        spec.id,
        Check.DUPLICATES,
        not found.keys,
        Severity.ERROR,
        detail,
        measured=found.keys,
        threshold=0,
        samples=samples,
    )


def reconciliation(spec: TableSpec, terms: TableConfig, drift: Drift) -> Verdict:
    """No settled row is missing in the lake or different there."""
    if not drift.was_compared:
        return unchecked(spec.id, Check.RECONCILIATION, drift.detail)
    return Verdict(
        table=spec.id,
        check=Check.RECONCILIATION,
        passed=not drift.rows,
        severity=Severity.WARN if drift.is_expected else terms.reconciliation,
        detail=drift.detail + _not_compared(spec),
        cure=drift.cure,
        measured=drift.rows,
        threshold=0,
        window=drift.checked,
        drifted=drift.windows,
        samples=shown(spec, terms, drift.samples),
        by_hash=not spec.key,
    )


def _not_compared(spec: TableSpec) -> str:
    """Columns of which the source does not say what lands."""
    names = ", ".join(each.name for each in spec.masks)
    return f"; not compared, as {agreeing(len(spec.masks), 'it is', 'they are')} masked: {names}" if names else ""


def beside_quarantine(verdict: Verdict, held: HeldRows | None, unfit: UnfitRows | None) -> Verdict:
    """Rows that are in quarantine are in no count of equal rows, so that they are counted beside them."""
    if held is None or unfit is None:
        return replace(verdict, detail=f"{verdict.detail}; rows in quarantine are not counted here")
    told = [each.sentence for each in (held, unfit) if each.rows]
    return replace(verdict, detail="; ".join((verdict.detail, *told)), quarantined=held.rows + unfit.rows)


def schema(spec: TableSpec, found: Difference) -> Verdict:
    """The same columns on both sides. A difference is a warning where the next sync follows it, and an error under `freeze`, or where a type changed otherwise than `widen` allows."""
    differences = [f"{column.name} is new in the source" for column in found.added]
    left_out = [column for column in found.dropped if column.name in spec.shape.left_out]
    gone = [column for column in found.dropped if column not in left_out]
    differences += [f"{column.name} is gone from the source" for column in gone]
    differences += [f"{column.name} is no longer read" for column in left_out]
    differences += [f"{column.name} was {column.was} and is {column.now}" for column in found.retyped]
    # Columns gone from the source are kept, empty, in the target by design.
    differs = len(found.added) + len(found.retyped) + (0 if spec.evolve else len(gone))
    stuck = any(not (spec.widens and each.is_wider) for each in found.retyped)
    severity = Severity.ERROR if stuck or not spec.evolve else Severity.WARN
    detail = "; ".join(differences) or f"{counted(len(spec.source_columns), 'column')}, the same on both sides"
    cure = of_schema(spec, found) if differs else ""
    return Verdict(spec.id, Check.SCHEMA, not differs, severity, detail, cure, measured=differs, threshold=0)


def contract(spec: TableSpec, held: HeldRows | None) -> Verdict:
    """No row is held in quarantine; a warning, as the copy is what the contract wants it to be. None: they could not be counted."""
    if held is None:
        why = "rows that are held could not be counted: only Spark can read the quarantine, or it is damaged or gone"
        return unchecked(spec.id, Check.CONTRACT, why)
    return Verdict(
        spec.id, Check.CONTRACT, not held.rows, Severity.WARN, held.sentence, measured=held.rows, threshold=0
    )


def history(spec: TableSpec, terms: TableConfig, check: Check, found: FaultyKeys | None) -> Verdict:
    """The history says of now what the copy says, and of each moment one thing. None: it has not begun."""
    if found is None:
        return unchecked(spec.id, check, "the history has not begun; the next sync begins it")
    keys, of = counted(found.keys, "key"), agreeing(found.keys, "has", "have")
    if check is Check.CURRENT:
        wrong = f"{keys} {of} another current version than the copy has a row"
        right = "the current versions are the rows of the copy"
    else:
        wrong = f"{keys} {of} versions that overlap, are empty, or leave a gap"
        right = "no two versions of a key overlap"
    detail = wrong if found.keys else right
    samples = shown(spec, terms, found.samples)
    return Verdict(
        spec.id, check, not found.keys, Severity.ERROR, detail, measured=found.keys, threshold=0, samples=samples
    )


def lost_history(spec: TableSpec, check: Check) -> Verdict:
    """A history had shown the copy, and is gone."""
    return unanswered(
        spec.id,
        check,
        f"{spec.id}: its history is gone from the lake; put it back before the next sync, which begins a new one with the copy as it is",
    )


def unchecked(table: TableId, check: Check, why: str) -> Verdict:
    """There is nothing yet to check: a warning, as nothing was found right either."""
    return Verdict(table, check, passed=False, severity=Severity.WARN, detail=why, was_checked=False)


def _nobody_looked(table: TableId) -> str:
    return f"no sync has looked for what waits since a reset, or before a first one: {sync(table)} reads it"


def unfinished(table: TableId, state: State) -> str:
    """That the first load of a table has still to read more of it; empty where there is none."""
    found = state.position.unfinished
    return f"{found} with {sync(table)}" if found else ""


def nothing_landed(table: TableId, check: Check) -> Verdict:
    """There is no copy yet."""
    return unchecked(table, check, f"nothing has landed yet; {sync(table)} begins")


def not_known(table: TableId, check: Check) -> Verdict:
    """There is a table in the lake, of which the checkpoint table knows nothing."""
    why = f"the checkpoint table knows nothing of the table that is in the lake; {sync(table)} takes its position from there, or says whose it is"
    return unchecked(table, check, why)


def gone(table: TableId, check: Check) -> Verdict:
    """Something has landed, and there is no copy."""
    return unanswered(table, check, f"the table is gone from the lake; {full_refresh_of(table)} makes it anew")


def with_the_rest(verdict: Verdict, terms: TableConfig, looked_at: Sequence[Window], known: Verified | None) -> Verdict:
    """The verdict on some windows says so, and does not pass while earlier checks know of drift in the others."""
    over = f"in {', '.join(map(str, looked_at[:NAMED]))} alone: " if looked_at else ""
    rest = known.outside(looked_at) if known else ()
    if not rest:
        return replace(verdict, detail=over + verdict.detail)
    rows = sum(piece.rows for piece in rest)
    where = ", ".join(str(piece.window) for piece in rest[:NAMED])
    found = f"an earlier check found {counted(rows, 'row')} that {agreeing(rows, 'has', 'have')} drifted in {where}"
    return replace(
        verdict,
        passed=False,
        severity=verdict.severity if not verdict.passed else terms.reconciliation,
        measured=(verdict.measured or 0) + rows,
        detail=f"{over}{verdict.detail}; {found}",
        drifted=(*verdict.drifted, *(piece.window for piece in rest[:NAMED])),
    )


def of_paused(verdict: Verdict, pause: Pause | None) -> Verdict:
    """What a check says of a table that a person has paused: how late it is says nothing, and nothing that it finds is repaired before it is resumed."""
    if pause is None:
        return verdict
    if verdict.check is Check.FRESHNESS:
        return unchecked(verdict.table, Check.FRESHNESS, pause.sentence)
    return replace(verdict, detail=f"{verdict.detail}; {pause.sentence}")


def unanswered(table: TableId, check: Check, sentence: str) -> Verdict:
    """The check could not run: it has not passed."""
    return Verdict(table, check, passed=False, severity=Severity.ERROR, detail=sentence)


def shown(spec: TableSpec, terms: TableConfig, keys: Sequence[str]) -> tuple[str, ...]:
    """Sample keys as they may be shown: still comparable with each other, but not readable, where a key column is declared `pii`."""
    # Rows of a table without a key are identified by all their columns.
    # The copy may have other names than the configuration.
    personal = {*terms.pii, *spec.personal} & set(spec.named_key or spec.shape.names)
    return tuple(hashlib.sha256(key.encode()).hexdigest()[:16] if personal else key for key in keys[:10])


def _held_back(limits: Freshness, bound: Moment) -> str:
    if bound.prepared is not None:
        return f"the watermark waits for the prepared transaction {bound.prepared}"
    limit = limits.warn or limits.fail
    since = (bound.clock - bound.since).total_seconds() if bound.since else 0.0
    if limit is None or since <= limit.total_seconds():
        return ""
    return f"the watermark has been held back for {age(since)} by {bound.holder}"
