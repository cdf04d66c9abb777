"""`status`: where every table stands, from the checkpoints and one light look at each source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from incremental_assets.cli.answer import DONE, Answer, Cell, Grid, Note, Shown
from incremental_assets.cli.globs import matches
from incremental_assets.cli.opening import configured, opened
from incremental_assets.cli.reports import short, text
from incremental_assets.cli.seen import Seen, look_at
from incremental_assets.cli.selection import remembered, selected, with_problems
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.config.resolve import unconfigured
from incremental_assets.core.model.cures import check, full_refresh_of, resume
from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.registration import Registered
from incremental_assets.core.model.retention import Pruned
from incremental_assets.core.model.state import State
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.operations.budgets import Budget
from incremental_assets.core.operations.rules import Urgency
from incremental_assets.core.operations.standing import Standing, Unfinished
from incremental_assets.core.planning.plan import Mode
from incremental_assets.core.planning.report import Status
from incremental_assets.core.words import age, agreeing, counted

_NAMED = 3
"""Tables that one line names."""
_COLUMNS = ("table", "strategy", "watermark", "lag", "last run", "status", "guarantee", "verified", "lease")


def run(config: Path | None, patterns: Sequence[str], *, offline: bool) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        found = remembered(runtime, patterns) if offline else selected(runtime, patterns)
        tables = look_at(runtime, found, offline=offline)
        left = [
            each
            for each in unconfigured(runtime.configuration.sources, runtime.checkpoints.positions())
            if not patterns or any(matches(pattern, each[0]) for pattern in patterns)
        ]
    quiet = [
        Note(
            f"{source.name}: quiet until {ends:%H:%M}Z (`quiet: {source.quiet}`): no sensor looks at it until then",
            "dim",
        )
        for source in runtime.configuration.sources
        if source.quiet and (ends := source.quiet.until(datetime.now(UTC))) and found.of(source.name)
    ]
    notes = [
        Note(f"{source}: not queried, this is the last known state: {error}", "warn")
        for source, error in found.unreachable.items()
    ]
    document = {
        "tables": [_entry(seen) for seen in tables],
        "no_longer_configured": [
            {"source": table.source, "table": render_table(table.schema, table.name)} for table, _ in left
        ],
    }
    summary = Answer(document, (*notes, *_shown(tables), *quiet, *(Note(sentence, "dim") for _, sentence in left)))
    # A look has not failed because of what it shows.
    return replace(with_problems(summary, found), exit_code=DONE)


def _entry(seen: Seen) -> dict[str, Any]:
    standing, verified = seen.standing, seen.standing.verified
    report, state = standing.position.last_report, standing.position.state
    return {
        "source": seen.table.source,
        "table": render_table(seen.table.schema, seen.table.name),
        "strategy": str(seen.terms.strategy),
        "cursor": seen.cursor,
        "watermark": text(state and state.position.watermark),
        "lag_seconds": seen.lag,
        "next_look": seen.next_look and seen.next_look.isoformat(),
        "deletes_due": seen.deletes_due and seen.deletes_due.isoformat(),
        "provisional_rows": state and state.position.provisional,
        "last_run": report.run_id if report else None,
        "last_run_at": standing.ended_at and standing.ended_at.isoformat(),
        "last_status": str(report.status) if report else None,
        "unfinished": standing.unfinished,
        "paused": seen.pause and _pause_entry(seen.pause),
        "budgets": [_budget_entry(each) for each in seen.budgets],
        "guarantee": str(report.guarantee) if report and report.guarantee else None,
        "guarantee_reason": (report.guarantee_reason or None) if report else None,
        "within_seconds": report.within.total_seconds() if report and report.within else None,
        "verified_through": verified and verified.through,
        "drift": verified and verified.drift,
        "lease": standing.holder and standing.holder.owner,
        "oldest_transaction": _oldest(seen.bound),
        "error": _error(seen),
        "warnings": list(seen.warnings),
        "held": seen.held and _held_entry(seen.held),
        "unfit": seen.unfit and _unfit_entry(seen.unfit),
        "pruned": seen.pruned and _pruned_entry(*seen.pruned),
        "registered": [_registered_entry(each) for each in seen.registered],
        "log": seen.log and _log_entry(seen.log, state),
        "last_schema_change": standing.changed
        and {"at": standing.changed[0].isoformat(), **standing.changed[1].to_json()},
    }


def _error(seen: Seen) -> str | None:
    report = seen.standing.position.last_report
    return seen.error or (report.error if report else None)


def _log_entry(seen: LogSeen, state: State | None) -> dict[str, Any]:
    return {
        "position": str(state.position) if state and state.position.capture else None,
        "source_keeps_bytes": seen.kept_bytes,
    }


def _registered_entry(done: Registered) -> dict[str, Any]:
    return {
        "table": render_table(done.table.schema, done.table.name),
        "catalogue": str(done.kind),
        "place": done.place,
        "at": done.at and done.at.isoformat(),
        "problem": done.problem or None,
    }


def _pruned_entry(at: datetime, done: Pruned) -> dict[str, Any]:
    return {
        "at": at.isoformat(),
        "files": done.files,
        "bytes": done.bytes,
        "versions": done.versions,
        "quarantined": done.quarantined,
        "left": list(done.left),
    }


def _pause_entry(pause: Pause) -> dict[str, Any]:
    return {
        "since": pause.since.isoformat(),
        "by": pause.by,
        "reason": pause.reason,
        "whole_source": pause.table is None,
    }


def _budget_entry(budget: Budget) -> dict[str, Any]:
    return {
        "slo": budget.slo,
        "objective": budget.objective,
        "recorded_since": budget.since and budget.since.isoformat(),
        "kept": budget.kept,
        "budget_left": budget.left,
        "burn_rates": {format_duration(window): rate for window, rate in budget.rates.items()},
        "burns": budget.burns,
    }


def _held_entry(held: HeldRows) -> dict[str, Any]:
    return {
        "rows": held.rows,
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in held.reasons],
        "oldest": held.oldest and held.oldest.isoformat(),
        "stale": held.stale,
        "stale_since": held.stale_since and held.stale_since.isoformat(),
    }


def _unfit_entry(unfit: UnfitRows) -> dict[str, Any]:
    return {
        "rows": unfit.rows,
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in unfit.reasons],
        "oldest": unfit.oldest and unfit.oldest.isoformat(),
    }


def _oldest(bound: Moment | None) -> dict[str, Any] | None:
    if bound is None or (bound.since is None and bound.prepared is None):
        return None
    return {
        "since": bound.since and bound.since.isoformat(),
        "seconds": bound.since and (bound.clock - bound.since).total_seconds(),
        "holder": bound.holder or None,
        "prepared": bound.prepared,
    }


def _shown(tables: Sequence[Seen]) -> list[Shown]:
    with_budgets = any(each.budgets for each in tables)
    shown: list[Shown] = [
        Grid(
            columns=(*_COLUMNS, "budget") if with_budgets else _COLUMNS,
            rows=tuple((*_row(each), _left(each.budgets)) if with_budgets else _row(each) for each in tables),
            right=frozenset({"lag", "budget"}),
            spare=("last run", "guarantee", "verified", "strategy", "lease"),
        )
    ]
    for source, bound in {each.table.source: each.bound for each in tables if each.bound}.items():
        oldest = _oldest(bound)
        if oldest and oldest["prepared"]:
            shown.append(
                Note(f"{source}: the prepared transaction {oldest['prepared']} holds every watermark back", "warn")
            )
        elif oldest:
            shown.append(
                Note(
                    f"{source}: the oldest transaction has been open for {age(oldest['seconds'])} ({oldest['holder']}): watermarks stay before it",
                    "dim",
                )
            )
    shown += _paused(tables)
    kept = {each.table.source: each.log for each in tables if each.log}
    shown += [
        Note(
            f"{source}: the source keeps {seen.kept_bytes >> 20:,} MiB of its log for us",
            "warn" if seen.warnings else "dim",
        )
        for source, seen in kept.items()
    ]
    shown += [Note(str(error), "bad") for seen in kept.values() if (error := seen.refused or seen.behind)]
    shown += [
        Note(f"{each.table}: {_drifted(verified)}; {check(each.table)} names them", "bad")
        for each in tables
        if (verified := each.standing.verified) and verified.drift
    ]
    shown += [
        Note(f"{each.table}: {budget.sentence}", "bad" if budget.burns is Urgency.PAGE else "warn")
        for each in tables
        for budget in each.budgets
        if budget.burns or (budget.left is not None and budget.left <= 0)
    ]
    shown += [Note(sentence, "warn") for each in tables for sentence in each.warnings]
    shown += [Note(f"{each.table}: {each.held.sentence}", "warn") for each in tables if each.held and each.held.rows]
    shown += [Note(f"{each.table}: {each.unfit.sentence}", "warn") for each in tables if each.unfit and each.unfit.rows]
    shown += [Note(sentence, "warn") for each in tables if (sentence := _not_landed(each.standing))]
    shown += [
        Note(f"{done.table}: {done.problem}", "warn") for each in tables for done in each.registered if done.problem
    ]
    shown += [
        Note(f"{each.table}: pruned {at:%Y-%m-%d %H:%M}Z: {'; '.join((done.sentence, *done.left))}", "dim")
        for each in tables
        if each.pruned
        for at, done in (each.pruned,)
    ]
    shown += _uncounted([each for each in tables if _is_uncounted(each)])
    shown += [
        Note(
            f"{each.table}: last change of its columns {changed[0]:%Y-%m-%d %H:%M}Z: {changed[1]}",
            "dim",
        )
        for each in tables
        if (changed := each.standing.changed)
    ]
    shown += [Note(error, "bad") for error in dict.fromkeys(map(_error, tables)) if error]
    return shown


def _not_landed(standing: Standing) -> str:
    """What becomes of a run that ended before it landed, where the table's row does not say it."""
    report, state = standing.position.last_report, standing.position.state
    if standing.unfinished is Unfinished.INTERRUPTED:
        return (
            f"{standing.table}: its run was killed; the next sync finds out in the lake whether that landed, and goes on from what has; "
            "a full refresh that did not land is to be asked for again"
        )
    if standing.unfinished or report is None or state is None:
        return ""
    if (report.mode, report.status) != (Mode.FULL_REFRESH, Status.FAILED):
        return ""
    return (
        f"{standing.table}: its full refresh did not land, so the copy is that of before, and the next sync goes on from it; "
        f"{full_refresh_of(standing.table)} reads everything again"
    )


def _paused(tables: Sequence[Seen]) -> list[Note]:
    """Each pause once."""
    pauses = dict.fromkeys(each.pause for each in tables if each.pause)
    return [Note(f"{pause.what}: {pause.sentence}; {resume(pause)} lets it go on", "warn") for pause in pauses]


def _is_uncounted(seen: Seen) -> bool:
    """Whether something has landed, and what waits in quarantine could not be counted."""
    of_contract = seen.terms.contract is not None and seen.held is None
    return seen.standing.position.state is not None and seen.error is None and (seen.unfit is None or of_contract)


def _uncounted(tables: Sequence[Seen]) -> list[Note]:
    if not tables:
        return []
    names = ", ".join(str(each.table) for each in tables[:_NAMED]) + (", …" if len(tables) > _NAMED else "")
    of = counted(len(tables), "table")
    return [
        Note(
            f"rows in quarantine could not be counted of {of} ({names}), as only Spark can read the quarantine, or it is damaged or gone",
            "warn",
        )
    ]


def _row(seen: Seen) -> tuple[Cell | str, ...]:
    standing, limits = seen.standing, seen.terms.freshness
    report, state = standing.position.last_report, standing.position.state
    late = next(
        (
            tone
            for tone, limit in (("bad", limits.fail), ("warn", limits.warn))
            if limit and (seen.lag or 0) > limit.total_seconds()
        ),
        "",
    )
    return (
        str(seen.table),
        str(seen.terms.strategy),
        str(state.position) if state and state.position.capture else short(state and state.position.watermark),
        # Of a table that never landed it is the age of the source's oldest row, which is no lag.
        Cell(_lag(seen), late),
        _last_run(seen),
        Cell("paused", "warn") if seen.pause else _status(standing),
        report.promise if report else "",
        _verified(standing.verified),
        standing.holder.owner if standing.holder else "",
    )


def _lag(seen: Seen) -> str:
    if seen.next_look is not None:
        wait = (seen.next_look - datetime.now(UTC)).total_seconds()
        return f"looks in {age(wait)}" if wait > 0 else "look is due"
    return "" if seen.lag is None or seen.standing.position.state is None else age(seen.lag)


def _last_run(seen: Seen) -> str:
    standing = seen.standing
    if standing.ended_at is not None:
        return f"{age((datetime.now(UTC) - standing.ended_at).total_seconds())} ago"
    return "" if standing.unfinished else "not known" if seen.unrecorded else "never"


def _status(standing: Standing) -> Cell | str:
    report = standing.position.last_report
    if standing.unfinished:
        return Cell(standing.unfinished, "dim" if standing.unfinished is Unfinished.RUNNING else "bad")
    return Cell(str(report.status), {"landed": "good", "idle": "good"}.get(report.status, "bad")) if report else ""


def _verified(verified: Verified | None) -> Cell | str:
    if verified is None:
        return ""
    return Cell(f"{counted(verified.drift, 'row')} drifted", "bad") if verified.drift else short(verified.through)


def _left(budgets: Sequence[Budget]) -> Cell | str:
    """The least that is left of any."""
    known = [each for each in budgets if each.left is not None]
    if not known:
        return ""
    least = min(known, key=lambda each: each.left or 0)
    urgent = {each.burns for each in known}
    tone = "bad" if Urgency.PAGE in urgent else "warn" if Urgency.TICKET in urgent else ""
    return Cell(f"{max(least.left or 0, 0):.0%} left", tone)


def _drifted(verified: Verified) -> str:
    return f"{counted(verified.drift, 'row')} {agreeing(verified.drift, 'has', 'have')} drifted"
