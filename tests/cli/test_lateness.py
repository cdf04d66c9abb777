"""`doctor` advises a `lookback` from how late rows come, where a late row may be missed and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.cli.findings.finding import Finding, Health
from incremental_assets.cli.findings.lateness import of_lateness
from incremental_assets.core.checks.doctor import SourceFacts
from incremental_assets.core.checks.lateness import Lateness, LateRows, advised, late_rows
from incremental_assets.core.model.stamping import Stamping
from incremental_assets.core.model.table import TableSpec
from incremental_assets.core.planning.plan import Request
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from tests.scenario import orders, written_by

SOURCE = SourceFacts(
    "18", "reader", "UTF8", is_superuser=False, sees_transactions=True, tracks_activities=True, says_which=True, is_replica=False,
    zone="UTC", clock=datetime(2026, 11, 24, tzinfo=UTC),
)  # fmt: skip
SLOW = Lateness(1000, median=0.004, nearly_all=12.4, longest=95.0)
NONE = LateRows(5, 100, 0)


BY_AN_APPLICATION = written_by(orders(), Stamping())


def found(spec: TableSpec | None = None, source: SourceFacts = SOURCE, measured: Lateness = SLOW) -> Finding:
    (finding,) = of_lateness(spec or orders(), source, measured, NONE)
    return finding


def test_what_was_measured_is_told_and_needs_no_lookback_where_the_bound_is_settled() -> None:
    finding = found()
    assert (finding.health, finding.cure) == (Health.OK, "")
    assert finding.detail == (
        "of 1,000 rows that were written last, half were committed within 0.004 s of their stamp, 99 in 100 within 12s, all within 1m 35s"
    )


def test_one_row_is_told_of_as_one() -> None:
    assert found(measured=replace(SLOW, rows=1)).detail.startswith("of 1 row that was written last, ")


@pytest.mark.parametrize(
    "source",
    [
        replace(SOURCE, sees_transactions=False),
        replace(SOURCE, is_replica=True),
        replace(SOURCE, login_trigger="on_login"),
    ],
    ids=["no sight of transactions", "replica", "login trigger"],
)
def test_where_a_late_row_may_be_missed_twice_the_longest_is_advised(source: SourceFacts) -> None:
    finding = found(source=source)
    assert finding.health is Health.WARN
    assert finding.cure == "set `lookback: 5m` at this table, twice the longest"


def test_where_an_application_stamps_a_declaration_of_twice_the_longest_is_advised() -> None:
    finding = found(BY_AN_APPLICATION)
    assert finding.health is Health.WARN
    assert finding.cure == "declare `cursor: {stamped: {by: application, within: 5m}}` at this table, twice the longest"


def test_a_declaration_is_compared_with_what_was_measured() -> None:
    shorter, wide_enough = (found(written_by(orders(), Stamping(), timedelta(seconds=each))) for each in (94, 95))
    assert shorter.health is Health.WARN
    assert "`stamped` declares 94s" in shorter.cure
    assert "`stamped: {by: application, within: 5m}`" in shorter.cure
    assert (wide_enough.health, wide_enough.cure) == (Health.OK, "")


def test_a_lookback_that_is_wide_enough_is_left_alone() -> None:
    replica = replace(SOURCE, is_replica=True)
    assert found(orders(lookback=timedelta(seconds=94)), replica).health is Health.WARN
    assert found(orders(lookback=timedelta(seconds=95)), replica).health is Health.OK


@pytest.mark.parametrize(
    ("longest", "lookback"),
    [(-3.0, 10), (4.9, 10), (5.1, 30), (95.0, 300), (43_200.0, 86_400)],
)
def test_the_advice_is_a_length_that_people_write(longest: float, lookback: int) -> None:
    assert advised(replace(SLOW, longest=longest)) == timedelta(seconds=lookback)


def test_of_an_import_with_old_stamps_no_lookback_is_advised() -> None:
    imported = replace(SLOW, longest=30 * 86_400.0)
    finding = found(BY_AN_APPLICATION, measured=imported)
    assert finding.health is Health.WARN
    assert "backfill" in finding.cure
    assert "lookback" not in finding.cure


def test_rows_that_syncs_have_found_late_are_counted_over_them() -> None:
    report = SyncReport.of(orders(), Request("run"), Status.LANDED)
    reports = [replace(report, rows=RowCounts(read=10, inserted=4, updated=3, late=late)) for late in (0, 2)]
    told = late_rows(reports)
    assert told == LateRows(2, 14, 2)

    (settled,) = of_lateness(orders(), SOURCE, None, told)
    (exposed,) = of_lateness(orders(), replace(SOURCE, is_replica=True), None, told)
    (unproven,) = of_lateness(BY_AN_APPLICATION, SOURCE, None, told)

    assert (settled.health, settled.detail) == (Health.OK, "2 of 14 rows in the last 2 syncs came late")
    assert exposed.health is Health.WARN
    assert "set a `lookback`" in exposed.cure
    assert "declare `stamped`" in unproven.cure
