"""Rules for Prometheus: recording rules of objectives, and alerts. One set for all tables, as their objectives are metrics themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from incremental_assets.core.model.duration import format_duration
from incremental_assets.core.operations.burn_rates import PAGES, TICKETS, WINDOWS, BurnRate
from incremental_assets.core.operations.exposition import PREFIX


class Urgency(StrEnum):
    """What is asked of whom: somebody now, or the team this week."""

    PAGE = "page"
    TICKET = "ticket"


@dataclass(frozen=True, slots=True)
class Recorded:
    """An expression that is stored under a name."""

    name: str
    expression: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Alert:
    """What Prometheus says once an expression has held for so long."""

    name: str
    """Without the prefix."""
    urgency: Urgency
    expression: str
    lasts: timedelta
    summary: str
    description: str
    runbook: str
    """The name of its page in `docs/runbooks`."""


_OBJECTIVE = f'{PREFIX}slo_objective_ratio{{slo="%s"}}'
_BY = "by (source, table)"
_ON = "on (source, table)"
_FAILED = f'sum {_BY} (increase({PREFIX}syncs_total{{result="failed"}}[%s]))'
_PAUSED = f"unless {_ON} max {_BY} ({PREFIX}paused) == 1"
"""What a person has paused is meant to be still."""
_ALL_PAUSED = f"unless on (source) min by (source) ({PREFIX}paused) == 1"
"""The same of a source that nobody looks at, as every table of it is paused."""
_STALE = "incremental_assets:stale:bool"
_FLOOR = 1.5
"""Failures in the long window: one of two syncs of an hour is no outage, and an increase is extrapolated."""
_IT = "{{ $labels.source }} {{ $labels.table }}"
_SOURCE = "{{ $labels.source }}"


def recorded() -> Iterator[Recorded]:
    """The ratios of errors of each objective, per table and window, under the names that public dashboards for objectives know."""
    late = f"max {_BY} (time() - {PREFIX}in_step_timestamp_seconds)"
    limit = f"max {_BY} ({PREFIX}slo_freshness_seconds)"
    # A copy that was never in step, or was put back, has no such moment: it is late.
    stale = f"({late} > bool {_ON} {limit}) or {_ON} ({limit} * 0 + 1)"
    # Minutes of a pause count as kept: left out, the first ones after it would be all that a window has.
    yield Recorded(_STALE, f"(({stale}) {_PAUSED}) or {_ON} ({limit} * 0)")
    for slo in ("freshness", "success"):
        yield Recorded("slo:error_budget:ratio", f"1 - max {_BY} ({_OBJECTIVE % slo})", (("slo", slo),))
    for window in map(format_duration, WINDOWS):
        yield Recorded(
            f"slo:sli_error:ratio_rate{window}", f"avg_over_time({_STALE}[{window}])", (("slo", "freshness"),)
        )
        ended = f'sum {_BY} (increase({PREFIX}syncs_total{{result=~"landed|failed"}}[{window}]))'
        of_those = f"max {_BY} ({_OBJECTIVE % 'success'})"
        yield Recorded(
            f"slo:sli_error:ratio_rate{window}",
            f"({_FAILED % window} / ({ended} > 0)) and {_ON} {of_those}",
            (("slo", "success"),),
        )


def alerts() -> Iterator[Alert]:
    """Each has its runbook."""
    yield from _burning()
    yield Alert(
        "ExporterDown",
        Urgency.PAGE,
        f"absent({PREFIX}build_info)",
        timedelta(minutes=5),
        "nobody exports metrics of incremental-assets",
        "No scrape has come to anything for five minutes: the exporter has ended, or its checkpoint database does not answer. No other alert can fire.",
        "exporter-down",
    )
    yield Alert(
        "SourceDown",
        Urgency.PAGE,
        f"max by (source) ({PREFIX}source_up) == 0 {_ALL_PAUSED}",
        timedelta(minutes=5),
        f"{_SOURCE} does not answer",
        f"The last looks at {_SOURCE} have failed for five minutes. Nothing of it lands until it answers.",
        "source-down",
    )
    yield Alert(
        "NobodyLooks",
        Urgency.PAGE,
        f"time() - max by (source) ({PREFIX}look_timestamp_seconds) > 1800 and on (source) max by (source) ({PREFIX}source_up) == 1 unless on (source) max by (source) ({PREFIX}source_quiet) == 1 {_ALL_PAUSED}",
        timedelta(minutes=5),
        f"nobody looks at {_SOURCE}",
        f"The sensor of {_SOURCE} has not looked for half an hour, though the source answered when it last did: the daemon has ended, the sensor is stopped, or a run lasts that long.",
        "nobody-looks",
    )
    yield Alert(
        "TableFailing",
        Urgency.TICKET,
        f'max {_BY} ({PREFIX}health{{health="error"}}) == 1 {_PAUSED}',
        timedelta(minutes=15),
        f"{_IT} fails",
        f"The last sync of {_IT} failed or was refused, and none has ended well for a quarter of an hour.",
        "table-failing",
    )
    yield Alert(
        "RunInterrupted",
        Urgency.TICKET,
        f"max {_BY} ({PREFIX}interrupted) == 1 {_PAUSED}",
        timedelta(minutes=30),
        f"a run of {_IT} died, and none goes on",
        f"A run of {_IT} ended without an end in the ledger, and for half an hour none has gone on from there.",
        "run-interrupted",
    )
    yield Alert(
        "Drift",
        Urgency.TICKET,
        f"max {_BY} ({PREFIX}drift_rows) > 0 {_PAUSED}",
        timedelta(minutes=15),
        f"{_IT} differs from its source",
        "{{ $value }} rows of " + f"{_IT} differ from the source, by the last check and what was read again since.",
        "drift",
    )
    yield Alert(
        "NotVerified",
        Urgency.TICKET,
        f"time() - max {_BY} ({PREFIX}verified_timestamp_seconds) > 2 * 86400 {_PAUSED}",
        timedelta(hours=1),
        f"{_IT} has not been compared for two days",
        f"The daily check of {_IT} has not come to a result for two days: drift would not be noticed.",
        "not-verified",
    )
    yield Alert(
        "RowsQuarantined",
        Urgency.TICKET,
        f"sum {_BY} (increase({PREFIX}quarantined_rows_total[1h])) > 0.5",
        timedelta(0),
        f"rows of {_IT} went to quarantine",
        "{{ $value | humanize }} rows of " + f"{_IT} went to quarantine within an hour, in place of the copy.",
        "rows-quarantined",
    )
    yield Alert(
        "HeldBack",
        Urgency.TICKET,
        f"time() - max by (source) ({PREFIX}oldest_transaction_timestamp_seconds) > 3600 {_ALL_PAUSED}",
        timedelta(minutes=15),
        f"a transaction of {_SOURCE} holds watermarks back",
        f"The oldest transaction of {_SOURCE} has been open for "
        "{{ $value | humanizeDuration }}: what was stamped since is read again and again, and does not settle.",
        "held-back",
    )
    yield Alert(
        "LogKept",
        Urgency.PAGE,
        f"max by (source) ({PREFIX}log_kept_bytes) > 5 * 1024 ^ 3",
        timedelta(minutes=15),
        f"{_SOURCE} keeps much of its log for our slot",
        f"{_SOURCE} keeps "
        "{{ $value | humanize1024 }}B of its log for our slot. Its disk may fill, or it gives up the slot, and then tables are loaded anew.",
        "log-kept",
    )

    yield Alert(
        "PausedForLong",
        Urgency.TICKET,
        f"time() - max {_BY} ({PREFIX}paused_timestamp_seconds) > 86400",
        timedelta(minutes=15),
        f"{_IT} is paused for long",
        f"{_IT} was paused "
        "{{ $value | humanizeDuration }} ago, by a person: nothing of it is synced, and no other alert of it fires.",
        "paused-for-long",
    )


def _burning() -> Iterator[Alert]:
    told = {
        "freshness": ("FreshnessBudgetBurns", "is late more often than its objective allows", "freshness-budget-burns"),
        "success": ("SuccessBudgetBurns", "fails more often than its objective allows", "success-budget-burns"),
    }
    for slo, (name, does, runbook) in told.items():
        for urgency, rates, lasts in (
            (Urgency.PAGE, PAGES, timedelta(minutes=2)),
            (Urgency.TICKET, TICKETS, timedelta(hours=1)),
        ):
            yield Alert(
                name,
                urgency,
                " or ".join(f"({_burns(slo, each)})" for each in rates),
                lasts,
                f"{_IT} {does}",
                f"The error budget of {_IT} ({slo}) burns too fast: "
                "{{ $value | humanizePercentage }} of the long window did not hold.",
                runbook,
            )


def _burns(slo: str, rate: BurnRate) -> str:
    long, short = format_duration(rate.long), format_duration(rate.short)
    budget = f'({rate.factor:g} * slo:error_budget:ratio{{slo="{slo}"}})'
    both = " and ".join(f'slo:sli_error:ratio_rate{window}{{slo="{slo}"}} > {_ON} {budget}' for window in (long, short))
    # Of syncs there are few: one that fails at one a minute is sixteen times what 99.9 % allows in an hour.
    return f"{both} and {_ON} {_FAILED % long} > {_FLOOR}" if slo == "success" else both
