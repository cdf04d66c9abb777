"""The metrics, each with its definition: made of what the checkpoint database knows, and of nothing else.

What is not known has no sample: a zero would say that it is known. Moments are exported, never ages, which would stand still
with whoever exports them. Labels are source, table, and words of a short list; no key, value, SQL, run or error text is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from types import MappingProxyType

from incremental_assets.core.config.settings import Freshness
from incremental_assets.core.model.cursor import CursorType
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.identifiers import render_table
from incremental_assets.core.model.look import Looked
from incremental_assets.core.model.objective import NO_OBJECTIVES, Objectives
from incremental_assets.core.model.pause import Pause
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.operations.exposition import Family, Kind, Sample, pairs, stamp
from incremental_assets.core.operations.known import Known
from incremental_assets.core.operations.standing import Health, Standing, Unfinished
from incremental_assets.core.operations.tally import SECONDS, Counts, Histogram
from incremental_assets.core.strategies import Strategy


@dataclass(frozen=True, slots=True)
class Watched:
    """A table that is configured."""

    table: TableId
    strategy: Strategy
    limits: Freshness = field(default_factory=Freshness)
    slo: Objectives = NO_OBJECTIVES


@dataclass(frozen=True, slots=True)
class _Row:
    """A table with all that is known of it. `labels` are those of every sample of it, without the braces."""

    labels: str
    watched: Watched
    standing: Standing
    counts: Counts
    changes: Mapping[str, int]
    pause: Pause | None = None


def families(
    known: Known, watched: Sequence[Watched], version: str, quiet: Mapping[str, bool] = MappingProxyType({})
) -> tuple[Family, ...]:
    """Every metric, of the tables that are configured: one that is so no longer would be late from then on. `quiet`: of the sources that have a quiet time, whether it is now."""
    changes: dict[TableId, dict[str, int]] = {}
    for (table, change), number in known.changes.items():
        changes.setdefault(table, {})[change] = number
    rows = [_row(known, each, changes.get(each.table, {})) for each in watched]
    sources = list(dict.fromkeys(each.table.source for each in watched))
    looks = {pairs(source=source): known.looks[source] for source in sources if source in known.looks}
    behind = {
        pairs(source=source): sum(each.table in known.looks[source].behind for each in watched)
        for source in sources
        if source in known.looks
    }
    build = Family("build_info", Kind.GAUGE, "Which release answers.", [(_braced(pairs(version=version)), "1")])
    return (
        build,
        *(Family(name, Kind.GAUGE, told, _of_looks(looks, value)) for name, told, value in _OF_SOURCES),
        Family(
            "source_quiet",
            Kind.GAUGE,
            "Whether it is the quiet time of a source, in which its sensor does not look.",
            [(_braced(pairs(source=source)), str(int(is_now))) for source, is_now in quiet.items()],
        ),
        Family(
            "tables_behind",
            Kind.GAUGE,
            "Tables that the last look at the source did not see in step.",
            [(_braced(labels), str(number)) for labels, number in behind.items()],
        ),
        *(Family(name, kind, told, [*_of_rows(rows, samples)]) for name, kind, told, samples in _OF_TABLES),
        Family(
            "sync_duration_seconds",
            Kind.HISTOGRAM,
            "How long syncs took that landed.",
            [*_histograms((pairs(source=each), known.tally.durations.get(each)) for each in sources)],
        ),
        Family(
            "stage_duration_seconds",
            Kind.HISTOGRAM,
            "How long each stage took of syncs that landed.",
            [
                *_histograms(
                    (pairs(source=source, stage=stage), found)
                    for (source, stage), found in sorted(known.tally.stages.items())
                    if source in sources
                )
            ],
        ),
    )


def _row(known: Known, watched: Watched, changes: Mapping[str, int]) -> _Row:
    table = watched.table
    return _Row(
        pairs(source=table.source, table=render_table(table.schema, table.name)),
        watched,
        known.standings.get(table, Standing(table)),
        known.tally.tables.get(table, Counts()),
        changes,
        known.pauses.of(table),
    )


# --- of sources -----------------------------------------------------------------------------------

_OF_SOURCES: tuple[tuple[str, str, Callable[[Looked], str | None]], ...] = (
    ("source_up", "Whether the source answered the last look.", lambda looked: str(int(looked.answers))),
    (
        "look_timestamp_seconds",
        "When the last look began that the source answered.",
        lambda looked: _moment(looked.looked_at),
    ),
    (
        "look_failed_timestamp_seconds",
        "When the source last did not answer a look.",
        lambda looked: _moment(looked.failed_at),
    ),
    (
        "oldest_transaction_timestamp_seconds",
        "Start of the oldest open transaction, which holds watermarks back, on the clock of the source.",
        lambda looked: _moment(looked.held_back_since),
    ),
    (
        "log_kept_bytes",
        "How much of its log the source keeps for us.",
        lambda looked: None if looked.kept_bytes is None else str(looked.kept_bytes),
    ),
)


def _of_looks(looks: Mapping[str, Looked], value: Callable[[Looked], str | None]) -> list[Sample]:
    return [(_braced(labels), found) for labels, looked in looks.items() if (found := value(looked)) is not None]


# --- of tables ------------------------------------------------------------------------------------


def _one(value: Callable[[Standing], str | None]) -> Callable[[_Row], Iterable[tuple[str, str]]]:
    """At most one sample of a table."""

    def samples(row: _Row) -> Iterable[tuple[str, str]]:
        found = value(row.standing)
        return () if found is None else (("", found),)

    return samples


def _settled_through(standing: Standing) -> str | None:
    """Of a cursor of another type, it would not be a moment."""
    state = standing.position.state
    value = state.position.watermark if state else None
    if value is None or value.type is not CursorType.TIMESTAMP or not value.is_finite:
        return None
    try:
        return stamp(value.moment())
    except ValueError:
        return None


def _hold_back(standing: Standing) -> str | None:
    report = standing.position.last_report
    return None if report is None or report.lag is None else str(report.lag)


def _provisional(standing: Standing) -> str | None:
    state = standing.position.state
    rows = state.position.provisional if state else None
    return None if rows is None else str(rows)


def _guarantees(row: _Row) -> Iterator[tuple[str, str]]:
    report = row.standing.position.last_report
    if report is not None and report.guarantee is not None:
        yield from ((f',guarantee="{each}"', str(int(each is report.guarantee))) for each in Guarantee)


def _healths(row: _Row) -> Iterator[tuple[str, str]]:
    found = row.standing.health
    if found is not None:
        yield from ((f',health="{each}"', str(int(each is found))) for each in Health)


def _limits(row: _Row) -> Iterator[tuple[str, str]]:
    for severity, limit in (("warn", row.watched.limits.warn), ("fail", row.watched.limits.fail)):
        if limit is not None:
            yield f',severity="{severity}"', _seconds(limit)


def _objectives(row: _Row) -> Iterator[tuple[str, str]]:
    slo = row.watched.slo
    if slo.freshness is not None:
        yield ',slo="freshness"', f"{slo.freshness.share:f}"
    if slo.success is not None:
        yield ',slo="success"', f"{slo.success:f}"


def _within(row: _Row) -> Iterator[tuple[str, str]]:
    if row.watched.slo.freshness is not None:
        yield "", _seconds(row.watched.slo.freshness.within)


def _syncs(row: _Row) -> Iterator[tuple[str, str]]:
    yield from ((f',result="{status}"', str(number)) for status, number in row.counts.syncs.items())


def _written(row: _Row) -> Iterator[tuple[str, str]]:
    yield from ((f',operation="{operation}"', str(number)) for operation, number in row.counts.written.items())


def _changed(row: _Row) -> Iterator[tuple[str, str]]:
    yield from ((f',change="{change}"', str(number)) for change, number in sorted(row.changes.items()))


def _count(value: Callable[[Counts], int]) -> Callable[[_Row], Iterable[tuple[str, str]]]:
    return lambda row: (("", str(value(row.counts))),)


_OF_TABLES: tuple[tuple[str, Kind, str, Callable[[_Row], Iterable[tuple[str, str]]]], ...] = (
    (
        "table_info",
        Kind.GAUGE,
        "Each table that is configured.",
        lambda row: ((f',strategy="{row.watched.strategy}"', "1"),),
    ),
    (
        "paused",
        Kind.GAUGE,
        "Whether a person has paused the table, or its source.",
        lambda row: (("", str(int(row.pause is not None))),),
    ),
    (
        "paused_timestamp_seconds",
        Kind.GAUGE,
        "Since when the table is paused; without a sample, it is not.",
        lambda row: () if row.pause is None else (("", stamp(row.pause.since)),),
    ),
    ("health", Kind.GAUGE, "1 for what the table is: ok, warn or error.", _healths),
    ("guarantee", Kind.GAUGE, "1 for what the last sync promised.", _guarantees),
    (
        "in_step_timestamp_seconds",
        Kind.GAUGE,
        "When the copy last had all that had settled in the source.",
        _one(lambda standing: _moment(standing.in_step_at)),
    ),
    (
        "settled_through_timestamp_seconds",
        Kind.GAUGE,
        "The watermark, where it is a moment.",
        _one(_settled_through),
    ),
    (
        "hold_back_seconds",
        Kind.GAUGE,
        "From the watermark to the clock of the source, when the last sync took its bound.",
        _one(_hold_back),
    ),
    (
        "checkpoint_timestamp_seconds",
        Kind.GAUGE,
        "When the last sync ended, however it did.",
        _one(lambda standing: _moment(standing.ended_at)),
    ),
    (
        "landed_timestamp_seconds",
        Kind.GAUGE,
        "When the last commit landed in the copy.",
        _one(lambda standing: _moment(standing.landed_at)),
    ),
    (
        "failed_timestamp_seconds",
        Kind.GAUGE,
        "When a sync last failed or was refused.",
        _one(lambda standing: _moment(standing.failed_at)),
    ),
    (
        "lease_timestamp_seconds",
        Kind.GAUGE,
        "Since when a run holds the table; without a sample, none does.",
        _one(lambda standing: _moment(standing.holder.since if standing.holder else None)),
    ),
    (
        "interrupted",
        Kind.GAUGE,
        "Whether a run died, and none has gone on from there.",
        _one(
            lambda standing: (
                None
                if standing.ended_at is None and standing.unfinished is None
                else str(int(standing.unfinished is Unfinished.INTERRUPTED))
            )
        ),
    ),
    (
        "drift_rows",
        Kind.GAUGE,
        "Rows that the last check found to differ, less those that were read again since.",
        _one(lambda standing: None if standing.verified is None else str(standing.verified.drift)),
    ),
    (
        "verified_timestamp_seconds",
        Kind.GAUGE,
        "When the copy was last compared with its source.",
        _one(lambda standing: _moment(standing.verified_at)),
    ),
    ("provisional_rows", Kind.GAUGE, "Rows of the copy that the next sync reads again.", _one(_provisional)),
    ("freshness_limit_seconds", Kind.GAUGE, "The limits that are configured.", _limits),
    ("slo_objective_ratio", Kind.GAUGE, "The share that each objective asks for.", _objectives),
    ("slo_freshness_seconds", Kind.GAUGE, "How long ago the copy may have been in step.", _within),
    ("syncs_total", Kind.COUNTER, "Syncs that landed, failed or were refused.", _syncs),
    ("rows_read_total", Kind.COUNTER, "Rows read from the source.", _count(lambda counts: counts.read)),
    ("rows_total", Kind.COUNTER, "Rows written to the copy.", _written),
    (
        "reread_rows_total",
        Kind.COUNTER,
        "Rows read from the source by backfills, repairs and replays.",
        _count(lambda counts: counts.read_again),
    ),
    ("late_rows_total", Kind.COUNTER, "Rows that committed late.", _count(lambda counts: counts.late)),
    (
        "quarantined_rows_total",
        Kind.COUNTER,
        "Rows that went to quarantine in place of the copy.",
        _count(lambda counts: counts.quarantined),
    ),
    ("schema_changes_total", Kind.COUNTER, "Columns of the copy that were changed.", _changed),
)


def _of_rows(rows: Iterable[_Row], samples: Callable[[_Row], Iterable[tuple[str, str]]]) -> Iterator[Sample]:
    for row in rows:
        for more, value in samples(row):
            yield f"{{{row.labels}{more}}}", value


# --- helpers --------------------------------------------------------------------------------------


def _histograms(found: Iterable[tuple[str, Histogram | None]]) -> Iterator[Sample]:
    ends = [f"{end:g}" for end in SECONDS] + ["+Inf"]
    for labels, histogram in found:
        if histogram is None:
            continue
        cumulated = list(accumulate(histogram.counts))
        for end, number in zip(ends, cumulated, strict=True):
            yield f'_bucket{{{labels},le="{end}"}}', str(number)
        yield f"_sum{{{labels}}}", f"{histogram.total:.3f}"
        yield f"_count{{{labels}}}", str(cumulated[-1])


def _braced(labels: str) -> str:
    return f"{{{labels}}}"


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(moment)


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g}"
