"""From numbers to verdicts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.checks.drift import Drift
from incremental_assets.core.checks.verdict import (
    beside_quarantine,
    duplicates,
    freshness,
    freshness_of,
    reconciliation,
    schema,
    shown,
)
from incremental_assets.core.config.settings import Freshness, TableConfig
from incremental_assets.core.model.column import Column, Fidelity
from incremental_assets.core.model.deletes import DeleteMode, Deletes
from incremental_assets.core.model.measure import Duplicates
from incremental_assets.core.model.observe_request import ObserveRequest
from incremental_assets.core.model.quarantine import HeldRows, UnfitRows
from incremental_assets.core.model.schema_drift import Difference, Retyped, TargetColumn
from incremental_assets.core.model.table import Strategy
from incremental_assets.core.model.verdict import Check, Severity, Verdict
from tests.core.stories import opened
from tests.scenario import ORDERS, orders

LIMITS = Freshness(timedelta(minutes=15), timedelta(hours=1))
TERMS = TableConfig("public", "orders", Strategy.UPSERT, freshness=LIMITS)
NOW = datetime(2024, 1, 29, 9, tzinfo=UTC)


def bound(oldest: datetime | None = None, prepared: str | None = None) -> Bound:
    return Bound(NOW, oldest, "pid 42, etl", prepared, "", "UTC", None)


@pytest.mark.parametrize(
    ("lag", "passed", "severity", "threshold"),
    [
        (0, True, Severity.WARN, 900),
        (900, True, Severity.WARN, 900),
        (901, False, Severity.WARN, 900),
        (3600, False, Severity.WARN, 900),
        (3601, False, Severity.ERROR, 3600),
    ],
)
def test_freshness_is_the_age_of_the_oldest_row_that_has_not_landed(
    lag: float, passed: bool, severity: Severity, threshold: float
) -> None:
    found = freshness(ORDERS, LIMITS, lag, bound())
    assert (found.passed, found.severity, found.measured, found.threshold) == (passed, severity, lag, threshold)


def test_without_a_limit_nothing_is_stale_and_with_one_alone_it_is_that() -> None:
    assert freshness(ORDERS, Freshness(), 1e9, bound(NOW - timedelta(days=9))).passed
    assert freshness(ORDERS, Freshness(fail=timedelta(hours=1)), 4000).severity is Severity.ERROR
    assert freshness(ORDERS, Freshness(warn=timedelta(hours=1)), 4000).severity is Severity.WARN


def test_a_watermark_that_is_held_back_is_a_warning_of_its_own() -> None:
    held = freshness(ORDERS, LIMITS, 0, bound(NOW - timedelta(minutes=90)))
    assert (held.passed, held.severity) == (False, Severity.WARN)
    assert (
        held.detail == "every row that can land has landed; the watermark has been held back for 1h 30m by pid 42, etl"
    )
    assert freshness(ORDERS, LIMITS, 0, bound(NOW - timedelta(minutes=14))).passed
    assert "prepared transaction 'tx'" in freshness(ORDERS, LIMITS, 0, bound(prepared="'tx'")).detail


def test_lag_outweighs_a_held_watermark() -> None:
    assert freshness(ORDERS, LIMITS, 9000, bound(NOW - timedelta(hours=9))).severity is Severity.ERROR


def test_duplicates_count_keys_and_the_rows_too_many() -> None:
    assert duplicates(orders(), TERMS, Duplicates(0, 0)).passed
    found = duplicates(orders(), TERMS, Duplicates(2, 3, ("1", "7")))
    assert (found.passed, found.severity, found.measured, found.samples) == (False, Severity.ERROR, 2, ("1", "7"))
    assert found.detail == "2 keys (id) are there more than once, 3 rows too many"


def test_drift_takes_its_severity_from_the_terms() -> None:
    drift = Drift("3 rows", 3, samples=("1",))
    assert reconciliation(orders(), TERMS, drift).severity is Severity.ERROR
    assert reconciliation(orders(), replace(TERMS, reconciliation=Severity.WARN), drift).severity is Severity.WARN
    assert reconciliation(orders(), TERMS, Drift("equal")).passed


def test_a_new_column_warns_and_a_changed_type_or_a_frozen_table_is_an_error() -> None:
    note = Column("note", "text", "string", Fidelity.EXACT)
    frozen = replace(orders(), evolve=False)
    added, gone = Difference(added=(note,)), Difference(dropped=(TargetColumn("old", "string"),))
    retyped = Difference(retyped=(Retyped("id", "bigint", "int"),))

    assert schema(orders(), Difference()).passed
    assert (schema(orders(), added).passed, schema(orders(), added).severity) == (False, Severity.WARN)
    # It is kept in the target, empty from now on.
    assert schema(orders(), gone).passed
    assert schema(orders(), retyped).severity is Severity.ERROR
    assert [(schema(frozen, each).passed, schema(frozen, each).severity) for each in (added, gone)] == [
        (False, Severity.ERROR)
    ] * 2


def test_a_column_that_the_configuration_leaves_out_is_told_and_passes_even_where_the_table_is_frozen() -> None:
    frozen = replace(orders(), evolve=False)
    left_out = replace(frozen, shape=replace(frozen.shape, left_out=("old",)))
    verdict = schema(left_out, Difference(dropped=(TargetColumn("old", "string"),)))
    assert (verdict.passed, verdict.detail) == (True, "old is no longer read")


def test_keys_are_shown_at_most_ten_and_hashed_where_the_key_is_personal() -> None:
    keys = tuple(map(str, range(30)))
    assert shown(orders(), TERMS, keys) == keys[:10]
    assert shown(orders(), replace(TERMS, pii=("customer",)), keys) == keys[:10]
    hashed = shown(orders(), replace(TERMS, pii=("id",)), keys)
    assert len(set(hashed)) == 10
    assert not set(hashed) & set(keys)
    # Without a key the whole row is what is shown, so that any personal column counts.
    assert shown(replace(orders(), key=()), replace(TERMS, pii=("customer",)), ("ada",)) != ("ada",)


def test_of_a_fresh_copy_rows_in_quarantine_are_said_to_be_missing() -> None:
    fresh = freshness(ORDERS, LIMITS, 0, bound())
    told = beside_quarantine(fresh, HeldRows(), UnfitRows(1, (("total is NaN", 1),)))
    assert (told.passed, told.quarantined) == (True, 1)
    assert told.detail.startswith("every row that can land has landed; 1 row of the source cannot land")
    assert beside_quarantine(fresh, HeldRows(), UnfitRows()).detail == "every row that can land has landed"


def test_freshness_says_when_deletes_are_looked_for_and_fails_when_that_is_overdue() -> None:
    spec = replace(orders(), deletes=Deletes(DeleteMode.DIFF, every=timedelta(days=1)))
    world = opened()
    world.sync(spec)
    state = world.ports().checkpoints.position(spec.id).state
    assert state is not None
    assert state.compared is not None
    looked = state.compared.clock

    def at(hours: float) -> Verdict:
        now = replace(bound(), clock=looked + timedelta(hours=hours))
        return freshness_of(ObserveRequest(spec, state), LIMITS, 0.0, now)

    assert (at(2).passed, at(2).detail) == (True, "every row that can land has landed; deletes are looked for in 22h")
    late = at(26)
    assert (late.passed, late.severity, late.measured) == (False, Severity.ERROR, 7200)
    assert late.detail == "every row that can land has landed; deletes should have been looked for 2h ago"


def test_a_quarantine_that_nobody_could_count_is_not_an_empty_one() -> None:
    equal = Verdict(ORDERS, Check.RECONCILIATION, passed=True, severity=Severity.ERROR, detail="3 rows are equal")
    counted = beside_quarantine(equal, HeldRows(2, (("total: ge 0", 2),)), UnfitRows(1, (("total is NaN", 1),)))
    unknown = beside_quarantine(equal, HeldRows(), None)
    assert counted.quarantined == 3
    assert counted.detail.startswith(
        "3 rows are equal; 2 rows are held in quarantine: total: ge 0 (2); 1 row of the source cannot land"
    )
    assert (unknown.quarantined, unknown.detail) == (None, "3 rows are equal; rows in quarantine are not counted here")
