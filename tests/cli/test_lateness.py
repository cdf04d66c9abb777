"""`doctor` advises a `lookback` from how late rows come, where a late row may be missed and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.cli.findings.lateness import of_lateness
from incremental_assets.core.checks.doctor import SourceFacts, TableFacts, Wanted
from incremental_assets.core.checks.lateness import Lateness, LateRows, advised, late_rows
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from tests.scenario import ORDERS, orders

SOURCE = SourceFacts(
    "18", "reader", "UTF8", is_superuser=False, sees_transactions=True, tracks_activities=True, says_which=True, is_replica=False,
    zone="UTC", clock=datetime(2026, 11, 24, tzinfo=UTC),
)  # fmt: skip
FACTS = TableFacts(Wanted(ORDERS), exists=True, usable=True, readable=True)
SLOW = Lateness(1000, median=0.004, nearly_all=12.4, longest=95.0)
NONE = LateRows(5, 100, 0)


def found(facts: TableFacts = FACTS, source: SourceFacts = SOURCE, lookback: timedelta = timedelta()) -> Finding:
    (finding,) = of_lateness(orders(lookback=lookback), facts, source, SLOW, NONE)
    return finding


def test_what_was_measured_is_told_and_needs_no_lookback_where_the_bound_is_settled() -> None:
    finding = found()
    assert (finding.health, finding.cure) == (Health.OK, "")
    assert finding.detail == (
        "of 1,000 rows that were written last half were committed within 0.004 s of their stamp, 99 in 100 within 12s, all within 1m 35s"
    )


@pytest.mark.parametrize(
    ("facts", "source"),
    [
        (replace(FACTS, unstamped=True), SOURCE),
        (FACTS, replace(SOURCE, sees_transactions=False)),
        (FACTS, replace(SOURCE, is_replica=True)),
        (FACTS, replace(SOURCE, login_trigger="on_login")),
    ],
    ids=["the application stamps", "no sight of transactions", "replica", "login trigger"],
)
def test_where_a_late_row_may_be_missed_twice_the_longest_is_advised(facts: TableFacts, source: SourceFacts) -> None:
    finding = found(facts, source)
    assert finding.health is Health.WARN
    assert finding.cure == "set `lookback: 5m` at this table, twice the longest"


def test_a_lookback_that_is_wide_enough_is_left_alone() -> None:
    facts = replace(FACTS, unstamped=True)
    assert found(facts, lookback=timedelta(seconds=94)).health is Health.WARN
    assert found(facts, lookback=timedelta(seconds=95)).health is Health.OK


@pytest.mark.parametrize(
    ("longest", "lookback"),
    [(-3.0, 10), (4.9, 10), (5.1, 30), (95.0, 300), (43_200.0, 86_400)],
)
def test_the_advice_is_a_length_that_people_write(longest: float, lookback: int) -> None:
    assert advised(replace(SLOW, longest=longest)) == timedelta(seconds=lookback)


def test_of_an_import_with_old_stamps_no_lookback_is_advised() -> None:
    imported = replace(SLOW, longest=30 * 86_400.0)
    (finding,) = of_lateness(orders(), replace(FACTS, unstamped=True), SOURCE, imported, NONE)
    assert finding.health is Health.WARN
    assert "backfill" in finding.cure
    assert "lookback" not in finding.cure


def test_rows_that_syncs_have_found_late_are_counted_over_them() -> None:
    report = SyncReport.of(orders(), Request("run"), Status.LANDED)
    reports = [replace(report, rows=RowCounts(read=10, inserted=4, updated=3, late=late)) for late in (0, 2)]
    told = late_rows(reports)
    assert told == LateRows(2, 14, 2)

    (settled,) = of_lateness(orders(), FACTS, SOURCE, None, told)
    (exposed,) = of_lateness(orders(), replace(FACTS, unstamped=True), SOURCE, None, told)

    assert (settled.health, settled.detail) == (Health.OK, "2 of 14 rows in the last 2 syncs came late")
    assert exposed.health is Health.WARN
    assert "set a `lookback`" in exposed.cure
