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
from incremental_assets.cli.selection import remembered, selected, with_problems
from incremental_assets.cli.standings import RUNNING, Standing, standings
from incremental_assets.core.captures.log.observation import LogSeen
from incremental_assets.core.config.resolve import unconfigured
from incremental_assets.core.model.cures import check
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.moment import Moment
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.state import State
from incremental_assets.core.model.verified import Verified
from incremental_assets.core.words import age, agreeing, counted

_NAMED = 3
"""Tables that one line names."""


def run(config: Path | None, patterns: Sequence[str], *, offline: bool) -> Answer:
    """Run the command."""
    with opened(configured(config)) as runtime:
        found = remembered(runtime, patterns) if offline else selected(runtime, patterns)
        tables = standings(runtime, found, offline=offline)
        left = [
            each
            for each in unconfigured(runtime.configuration.sources, runtime.checkpoints.positions())
            if not patterns or any(matches(pattern, each[0]) for pattern in patterns)
        ]
    notes = [
        Note(f"{source}: not queried, this is the last known state: {error}", "warn")
        for source, error in found.unreachable.items()
    ]
    document = {
        "tables": [_entry(standing) for standing in tables],
        "no_longer_configured": [
            {"source": table.source, "table": render_table(table.schema, table.name)} for table, _ in left
        ],
    }
    summary = Answer(document, (*notes, *_shown(tables), *(Note(sentence, "dim") for _, sentence in left)))
    # A look has not failed because of what it shows.
    return replace(with_problems(summary, found), exit_code=DONE)


def _entry(standing: Standing) -> dict[str, Any]:
    position, report = standing.position, standing.position.last_report
    state = position.state
    return {
        "source": standing.table.source,
        "table": render_table(standing.table.schema, standing.table.name),
        "strategy": str(standing.terms.strategy),
        "cursor": standing.cursor,
        "watermark": text(state and state.position.watermark),
        "lag_seconds": standing.lag,
        "next_look": standing.next_look and standing.next_look.isoformat(),
        "deletes_due": standing.deletes_due and standing.deletes_due.isoformat(),
        "provisional_rows": state and state.position.provisional,
        "last_run": report.run_id if report else None,
        "last_run_at": standing.last_at and standing.last_at.isoformat(),
        "last_status": str(report.status) if report else None,
        "unfinished": standing.unfinished or None,
        "guarantee": str(report.guarantee) if report and report.guarantee else None,
        "guarantee_reason": (report.guarantee_reason or None) if report else None,
        "within_seconds": report.within.total_seconds() if report and report.within else None,
        "verified_through": standing.verified and standing.verified.through,
        "drift": standing.verified and standing.verified.drift,
        "lease": standing.heartbeat.owner if standing.heartbeat else None,
        "oldest_transaction": _oldest(standing.bound),
        "error": standing.error or (report.error if report else None),
        "warnings": list(standing.warnings),
        "held": standing.held and _held_entry(standing.held),
        "unfit": standing.unfit and _unfit_entry(standing.unfit),
        "log": standing.log and _log_entry(standing.log, state),
        "last_schema_change": standing.changed
        and {"at": standing.changed[0].isoformat(), **standing.changed[1].to_json()},
    }


def _log_entry(seen: LogSeen, state: State | None) -> dict[str, Any]:
    return {
        "position": str(state.position) if state and state.position.capture else None,
        "source_keeps_bytes": seen.kept_bytes,
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


def _shown(tables: Sequence[Standing]) -> list[Shown]:
    shown: list[Shown] = [
        Grid(
            columns=("table", "strategy", "watermark", "lag", "last run", "status", "guarantee", "verified", "lease"),
            rows=tuple(_row(standing) for standing in tables),
            right=frozenset({"lag"}),
            spare=("guarantee", "verified", "strategy", "lease"),
        )
    ]
    for source, bound in {standing.table.source: standing.bound for standing in tables if standing.bound}.items():
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
    kept = {standing.table.source: standing.log for standing in tables if standing.log}
    shown += [
        Note(
            f"{source}: the source keeps {seen.kept_bytes >> 20:,} MiB of its log for us",
            "warn" if seen.warnings else "dim",
        )
        for source, seen in kept.items()
    ]
    shown += [Note(str(error), "bad") for seen in kept.values() if (error := seen.refused or seen.behind)]
    shown += [
        Note(f"{standing.table}: {_drifted(standing.verified)}; {check(standing.table)} names them", "bad")
        for standing in tables
        if standing.verified and standing.verified.drift
    ]
    shown += [Note(sentence, "warn") for standing in tables for sentence in standing.warnings]
    shown += [
        Note(f"{standing.table}: {standing.held.sentence}", "warn")
        for standing in tables
        if standing.held and standing.held.rows
    ]
    shown += [
        Note(f"{standing.table}: {standing.unfit.sentence}", "warn")
        for standing in tables
        if standing.unfit and standing.unfit.rows
    ]
    shown += _uncounted([standing for standing in tables if _is_uncounted(standing)])
    shown += [
        Note(
            f"{standing.table}: last change of its columns {standing.changed[0]:%Y-%m-%d %H:%M}Z: {standing.changed[1]}",
            "dim",
        )
        for standing in tables
        if standing.changed
    ]
    shown += [Note(error, "bad") for error in dict.fromkeys(_entry(standing)["error"] for standing in tables) if error]
    return shown


def _is_uncounted(standing: Standing) -> bool:
    """Whether something has landed, and what waits in quarantine could not be counted."""
    of_contract = standing.terms.contract is not None and standing.held is None
    return standing.position.state is not None and standing.error is None and (standing.unfit is None or of_contract)


def _uncounted(tables: Sequence[Standing]) -> list[Note]:
    if not tables:
        return []
    names = ", ".join(str(standing.table) for standing in tables[:_NAMED]) + (", …" if len(tables) > _NAMED else "")
    of = counted(len(tables), "table")
    return [
        Note(
            f"rows in quarantine could not be counted of {of} ({names}), as only Spark can read the quarantine, or it is damaged or gone",
            "warn",
        )
    ]


def _row(standing: Standing) -> tuple[Cell | str, ...]:
    report, limits = standing.position.last_report, standing.terms.freshness
    late = next(
        (
            tone
            for tone, limit in (("bad", limits.fail), ("warn", limits.warn))
            if limit and (standing.lag or 0) > limit.total_seconds()
        ),
        "",
    )
    state = standing.position.state
    return (
        str(standing.table),
        str(standing.terms.strategy),
        str(state.position) if state and state.position.capture else short(state and state.position.watermark),
        # Of a table that never landed it is the age of the source's oldest row, which is no lag.
        Cell(_lag(standing), late),
        _last_run(standing),
        _status(standing),
        report.promise if report else "",
        _verified(standing.verified),
        standing.heartbeat.owner or "" if standing.heartbeat else "",
    )


def _lag(standing: Standing) -> str:
    if standing.next_look is not None:
        wait = (standing.next_look - datetime.now(UTC)).total_seconds()
        return f"looks in {age(wait)}" if wait > 0 else "look is due"
    return "" if standing.lag is None or standing.position.state is None else age(standing.lag)


def _last_run(standing: Standing) -> str:
    if standing.last_at is not None:
        return f"{age((datetime.now(UTC) - standing.last_at).total_seconds())} ago"
    return "" if standing.unfinished else "never"


def _status(standing: Standing) -> Cell | str:
    report = standing.position.last_report
    if standing.unfinished:
        return Cell(standing.unfinished, "dim" if standing.unfinished == RUNNING else "bad")
    return Cell(str(report.status), {"landed": "good", "idle": "good"}.get(report.status, "bad")) if report else ""


def _verified(verified: Verified | None) -> Cell | str:
    if verified is None:
        return ""
    return Cell(f"{counted(verified.drift, 'row')} drifted", "bad") if verified.drift else short(verified.through)


def _drifted(verified: Verified) -> str:
    return f"{counted(verified.drift, 'row')} {agreeing(verified.drift, 'has', 'have')} drifted"
