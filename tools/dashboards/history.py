"""Six hours that are made up: a source that is down, a transaction that stays open, a table that fails, rows in quarantine, drift and its repair, a backfill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from incremental_assets.core.operations.exposition import PREFIX
from incremental_assets.core.operations.tally import SECONDS

ENDS = datetime(2026, 11, 28, 12, tzinfo=UTC)
MINUTES = 360
BEGINS = ENDS - timedelta(minutes=MINUTES)
TABLES = (
    ("shop", "public.orders"),
    ("shop", "public.customers"),
    ("billing", "public.invoices"),
    ("billing", "public.payments"),
)
DOWN = range(90, 130)
"""Minutes in which `shop` does not answer."""
HELD = range(180, 235)
"""Minutes in which a transaction of `billing` is open."""
FAILS = range(250, 285)
"""Minutes in which the invoices fail."""
BACKFILL = range(295, 335)


@dataclass(frozen=True)
class Series:
    """A value for each minute; None: there is no sample."""

    name: str
    labels: str
    value: Callable[[int], float | None]


def text() -> str:
    """As OpenMetrics, which promtool makes blocks of."""
    lines = []
    for series in sorted(_series(), key=lambda each: (each.name, each.labels)):
        for minute in range(MINUTES + 1):
            value = series.value(minute)
            if value is not None:
                lines.append(f"{PREFIX}{series.name}{{{series.labels}}} {value!r} {_at(minute):.0f}")
    return "\n".join([*lines, "# EOF", ""])


def _series() -> Iterator[Series]:
    for source in ("shop", "billing"):
        yield from _of_source(source)
    for source, table in TABLES:
        yield from _of_table(source, table)


def _at(minute: float) -> float:
    return (BEGINS + timedelta(minutes=minute)).timestamp()


def _is_still(source: str, table: str, minute: int) -> bool:
    """Whether nothing lands."""
    return (source == "shop" and minute in DOWN) or (table == "public.invoices" and minute in FAILS)


def _last(source: str, table: str, minute: int) -> int:
    """The last minute up to this one in which something landed."""
    return next(each for each in range(minute, -1, -1) if not _is_still(source, table, each))


def _landed(source: str, table: str, minute: int) -> int:
    return sum(not _is_still(source, table, each) for each in range(minute + 1))


def _of_source(source: str) -> Iterator[Series]:
    of = f'source="{source}"'
    tables = [table for other, table in TABLES if other == source]
    yield Series("source_up", of, lambda minute: float(not (source == "shop" and minute in DOWN)))
    yield Series("look_timestamp_seconds", of, lambda minute: _at(_last(source, "", minute)))
    yield Series("tables_behind", of, lambda minute: float(sum(_is_still(source, table, minute) for table in tables)))
    if source == "billing":
        yield Series(
            "oldest_transaction_timestamp_seconds",
            of,
            lambda minute: _at(HELD.start) if minute in HELD else _at(minute),
        )
    else:
        yield Series(
            "log_kept_bytes", of, lambda minute: (8 + 3 * max(0, min(minute, DOWN.stop) - DOWN.start)) * 2.0**20
        )
    per_sync = {"lease": 0.02, "observe": 0.2, "plan": 0.05, "read": 1.2, "apply": 0.7}
    for stage, seconds in per_sync.items():
        yield from _histogram("stage_duration_seconds", f'{of},stage="{stage}"', source, seconds)
    yield from _histogram("sync_duration_seconds", of, source, sum(per_sync.values()))


def _histogram(name: str, labels: str, source: str, seconds: float) -> Iterator[Series]:
    """One in forty takes five times as long."""

    def below(end: float) -> Callable[[int], float]:
        def number(minute: int) -> float:
            syncs = _landed(source, "", minute)
            return float((syncs - syncs // 40 if seconds <= end else 0) + (syncs // 40 if 5 * seconds <= end else 0))

        return number

    for end in (*SECONDS, float("inf")):
        le = "+Inf" if end == float("inf") else f"{end:g}"
        yield Series(f"{name}_bucket", f'{labels},le="{le}"', below(end))


def _of_table(source: str, table: str) -> Iterator[Series]:
    of = f'source="{source}",table="{table}"'
    is_orders, is_invoices = table == "public.orders", table == "public.invoices"
    pace = 1 + len(table) % 5

    def landed(minute: int) -> int:
        return _landed(source, table, minute)

    yield Series("table_info", f'{of},strategy="upsert"', lambda _: 1.0)
    yield Series("paused", of, lambda _: float(table == "public.payments"))
    yield Series("in_step_timestamp_seconds", of, lambda minute: _at(_last(source, table, minute)))
    yield Series("health", f'{of},health="error"', lambda minute: float(is_invoices and minute in FAILS))
    yield Series("slo_objective_ratio", f'{of},slo="freshness"', lambda _: 0.95)
    yield Series("slo_objective_ratio", f'{of},slo="success"', lambda _: 0.999)
    yield Series("slo_freshness_seconds", of, lambda _: 300.0)
    yield Series("syncs_total", f'{of},result="landed"', lambda minute: float(landed(minute)))
    failed = FAILS if is_invoices else range(0)
    yield Series("syncs_total", f'{of},result="failed"', lambda m: float(len(range(failed.start, min(m, failed.stop)))))
    yield Series("rows_read_total", of, lambda m: landed(m) * 120.0 * pace + (_refilled(m) if is_orders else 0))
    yield Series("rows_total", f'{of},operation="inserted"', lambda minute: landed(minute) * 80.0 * pace)
    yield Series("rows_total", f'{of},operation="updated"', lambda minute: landed(minute) * 35.0 * pace)
    yield Series("rows_total", f'{of},operation="deleted"', lambda minute: landed(minute) * 2.0 * pace)
    yield Series("reread_rows_total", of, lambda minute: float(_refilled(minute)) if is_orders else 0.0)
    yield Series("late_rows_total", of, lambda minute: float(3 * (minute // 45)) if is_orders else 0.0)
    yield Series(
        "quarantined_rows_total",
        of,
        lambda minute: (
            float(4 * max(0, minute - 275)) if is_invoices and minute < 285 else 40.0 if is_invoices else 0.0
        ),
    )
    yield Series(
        "schema_changes_total", f'{of},change="added"', lambda minute: float(minute >= 140) if is_orders else None
    )
    yield Series("provisional_rows", of, lambda minute: float(pace * (20 + minute % 15)))
    yield Series("drift_rows", of, lambda minute: 7.0 if is_orders and 180 <= minute < 215 else 0.0)
    yield Series("verified_timestamp_seconds", of, lambda minute: _at(180 if minute >= 180 else -1260))
    yield Series(
        "hold_back_seconds",
        of,
        lambda m: float(2 + 60 * max(0, m - HELD.start)) if source == "billing" and m in HELD else 2.0 + m % 3,
    )
    yield Series("lease_timestamp_seconds", of, lambda m: _at(BACKFILL.start) if is_orders and m in BACKFILL else None)


def _refilled(minute: int) -> float:
    return 25_000.0 * len(range(BACKFILL.start, min(minute, BACKFILL.stop)))
