"""The dashboards, as one description: what becomes JSON for Grafana, and what the pictures of the documentation are drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from incremental_assets.core.operations.exposition import PREFIX

COLUMNS = 24
"""Of Grafana's grid."""
INTERVAL = "$__rate_interval"
"""What Grafana puts there: a range in which there are samples enough for a rate."""


class Shape(StrEnum):
    """How a panel shows what it asks."""

    NUMBER = "stat"
    LINES = "timeseries"


class Unit(StrEnum):
    """In Grafana's words."""

    SECONDS = "s"
    BYTES = "bytes"
    ROWS_PER_SECOND = "rps"
    COUNT = "short"


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and how its series are called: labels stand in double braces."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One question."""

    title: str
    about: str
    shape: Shape
    unit: Unit
    queries: tuple[Query, ...]
    width: int = 12
    height: int = 8


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Some questions that are asked together."""

    name: str
    title: str
    about: str
    panels: tuple[Panel, ...]

    def placed(self) -> Iterator[tuple[Panel, int, int]]:
        """Each with its column and row: from left to right, as they are written."""
        x = y = below = 0
        for panel in self.panels:
            if x + panel.width > COLUMNS:
                x, y = 0, below
            yield panel, x, y
            x, below = x + panel.width, max(below, y + panel.height)


_SOURCE, _TABLE = 'source=~"$source"', 'source=~"$source",table=~"$table"'
_FAILS = 'health="error"'
_ONE = "{{source}} {{table}}"


def _of(name: str, *labels: str) -> str:
    return f"{PREFIX}{name}{{{','.join(labels)}}}"


def _age(name: str, labels: str, by: str) -> str:
    return f"time() - max by ({by}) ({_of(name, labels)})"


def _number(title: str, about: str, expression: str, unit: Unit = Unit.COUNT) -> Panel:
    # What there is nothing of has no series, and a number is 0 then.
    return Panel(title, about, Shape.NUMBER, unit, (Query(f"({expression}) or vector(0)", title),), width=6, height=4)


def _lines(title: str, about: str, unit: Unit, *queries: tuple[str, str]) -> Panel:
    return Panel(title, about, Shape.LINES, unit, tuple(Query(*each) for each in queries))


def _quantile(quantile: str, name: str, by: str, labels: str) -> str:
    return f"histogram_quantile({quantile}, sum by ({by}, le) (rate({_of(f'{name}_bucket', labels)}[{INTERVAL}])))"


def _rate(name: str, by: str, *labels: str) -> str:
    return f"sum by ({by}) (rate({_of(name, _TABLE, *labels)}[{INTERVAL}]))"


SERVICE = Dashboard(
    "service",
    "Service",
    "Is what was promised kept?",
    (
        _number(
            "Late copies",
            "Tables that were last in step longer ago than their objective allows. Recorded by the rules of `alerts`.",
            f"sum(incremental_assets:stale:bool{{{_TABLE}}})",
        ),
        _number(
            "Failing tables",
            "Tables whose last sync failed or was refused.",
            f"sum({_of('health', _TABLE, _FAILS)})",
        ),
        _number(
            "Sources that do not answer",
            "By the last look of the sensor.",
            f"count({_of('source_up', _SOURCE)} == 0)",
        ),
        _number("Paused tables", "By a person, with a reason that `status` shows.", f"sum({_of('paused', _TABLE)})"),
        _lines(
            "Age of copies",
            "How long ago each copy lacked nothing that had settled in its source.",
            Unit.SECONDS,
            (_age("in_step_timestamp_seconds", _TABLE, "source, table"), _ONE),
        ),
        _lines(
            "Burn rate of the budget of freshness",
            "How many times as fast as it may the budget burns, within an hour: 14.4 is a page.",
            Unit.COUNT,
            (
                f'slo:sli_error:ratio_rate1h{{slo="freshness",{_TABLE}}} / on (source, table) slo:error_budget:ratio{{slo="freshness"}}',
                _ONE,
            ),
        ),
        _lines(
            "Syncs by how they ended",
            "Syncs that found nothing to do are not counted.",
            Unit.COUNT,
            (f"sum by (result) (increase({_of('syncs_total', _TABLE)}[{INTERVAL}]))", "{{result}}"),
        ),
        _lines(
            "Rows that differ",
            "As the last check found, less those that were read again since. Without a line: never compared.",
            Unit.COUNT,
            (f"max by (source, table) ({_of('drift_rows', _TABLE)})", _ONE),
        ),
        _lines(
            "Rows that went to quarantine",
            "In place of the copy.",
            Unit.COUNT,
            (f"sum by (source, table) (increase({_of('quarantined_rows_total', _TABLE)}[{INTERVAL}]))", _ONE),
        ),
        _lines(
            "Time since the last comparison",
            "A check runs daily, unless `check_at` says otherwise.",
            Unit.SECONDS,
            (_age("verified_timestamp_seconds", _TABLE, "source, table"), _ONE),
        ),
    ),
)
WORK = Dashboard(
    "work",
    "Work",
    "How much moves, and how long does it take?",
    (
        _lines(
            "Rows read from sources",
            "By syncs, backfills, repairs and replays; counted when a batch lands.",
            Unit.ROWS_PER_SECOND,
            (_rate("rows_read_total", "source"), "{{source}}"),
        ),
        _lines(
            "Rows written to copies",
            "By what was done; unchanged rows are not written.",
            Unit.ROWS_PER_SECOND,
            (_rate("rows_total", "operation"), "{{operation}}"),
        ),
        _lines(
            "Rows read again",
            "By backfills, repairs and replays.",
            Unit.ROWS_PER_SECOND,
            (_rate("reread_rows_total", "source, table"), _ONE),
        ),
        _lines(
            "Rows that committed late",
            "Below the watermark, and landed nevertheless.",
            Unit.ROWS_PER_SECOND,
            (_rate("late_rows_total", "source, table"), _ONE),
        ),
        _lines(
            "Duration of syncs",
            "From the lease to the last record, of syncs that landed.",
            Unit.SECONDS,
            (_quantile("0.5", "sync_duration_seconds", "source", _SOURCE), "{{source}}: half of them"),
            (_quantile("0.99", "sync_duration_seconds", "source", _SOURCE), "{{source}}: 99%"),
        ),
        _lines(
            "Duration of stages",
            "What 99% of the syncs that landed did not exceed.",
            Unit.SECONDS,
            (_quantile("0.99", "stage_duration_seconds", "stage", _SOURCE), "{{stage}}"),
        ),
        _lines(
            "Columns that were changed",
            "In copies, by the kind of change.",
            Unit.COUNT,
            (f"sum by (change) ({_of('schema_changes_total', _TABLE)})", "{{change}}"),
        ),
        _lines(
            "Rows that the next sync reads again",
            "A cost, not a fault.",
            Unit.COUNT,
            (f"max by (source, table) ({_of('provisional_rows', _TABLE)})", _ONE),
        ),
    ),
)
SOURCES = Dashboard(
    "sources",
    "Sources",
    "What do the sources have to do with it?",
    (
        _lines(
            "Time since the last look",
            "By the sensor, that the source answered. During a long run the sensor waits for it.",
            Unit.SECONDS,
            (_age("look_timestamp_seconds", _SOURCE, "source"), "{{source}}"),
        ),
        _lines(
            "Tables that wait",
            "That the last look did not see in step.",
            Unit.COUNT,
            (f"max by (source) ({_of('tables_behind', _SOURCE)})", "{{source}}"),
        ),
        _lines(
            "Oldest open transaction",
            "Watermarks stay before it.",
            Unit.SECONDS,
            (_age("oldest_transaction_timestamp_seconds", _SOURCE, "source"), "{{source}}"),
        ),
        _lines(
            "Log that is kept for us",
            "Of sources of which tables are read from the log.",
            Unit.BYTES,
            (f"max by (source) ({_of('log_kept_bytes', _SOURCE)})", "{{source}}"),
        ),
        _lines(
            "Tables that a run holds",
            "Since when; one on another machine that died holds its table until the lease expires.",
            Unit.SECONDS,
            (_age("lease_timestamp_seconds", _TABLE, "source, table"), _ONE),
        ),
        _lines(
            "From the watermark to the clock of the source",
            "When the last sync took its bound.",
            Unit.SECONDS,
            (f"max by (source, table) ({_of('hold_back_seconds', _TABLE)})", _ONE),
        ),
    ),
)
DASHBOARDS = {each.name: each for each in (SERVICE, WORK, SOURCES)}
