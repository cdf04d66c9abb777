"""How much of the budgets is left, and which alert asks for somebody: on days that are made up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from incremental_assets.core.model.kept import During, Ends, Kept
from incremental_assets.core.model.objective import Objectives, Within
from incremental_assets.core.operations.budgets import Budget, budgets
from incremental_assets.core.operations.burn_rates import MONTH, WINDOWS
from incremental_assets.core.operations.rules import Urgency

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
FRESH = Objectives(freshness=Within.parse("95% within 5m"))
SUCCEEDS = Objectives(success=Decimal("0.999"))
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def late(*spans: tuple[timedelta, timedelta], since: timedelta = MONTH) -> Budget:
    """Each from so long ago for so long."""
    told = tuple(During(NOW - ago, NOW - ago + lasted) for ago, lasted in spans)
    (found,) = budgets(FRESH, Kept(NOW, NOW - since, told))
    return found


def ended(**of: tuple[int, int]) -> Budget:
    """Landed and failed within the last hour, day and month; those of shorter windows are part of longer ones."""
    lengths = {"hour": HOUR, "day": DAY, "month": MONTH}
    told = {window: Ends() for window in (*WINDOWS, MONTH)}
    for name, (landed, failed) in of.items():
        told |= {
            window: Ends(found.landed + landed, found.failed + failed)
            for window, found in told.items()
            if window >= lengths[name] or (name == "hour" and window < HOUR)
        }
    (found,) = budgets(SUCCEEDS, Kept(NOW, None, (), told))
    return found


def test_a_month_of_which_all_was_kept_has_its_whole_budget() -> None:
    found = late()
    assert (found.kept, found.left, found.burns) == (1, 1, None)
    assert set(found.rates.values()) == {0}
    assert found.sentence == "freshness 95% within 5m: 100% of its budget is left"


def test_the_budget_of_a_month_is_a_day_and_a_half_of_lateness_at_95_percent() -> None:
    found = late((20 * DAY, 18 * HOUR))
    assert found.left == pytest.approx(0.5)
    assert found.kept == pytest.approx(0.975)
    assert found.burns is None, "it is long over"


def test_more_than_all_of_it_is_used_up() -> None:
    found = late((20 * DAY, 72 * HOUR))
    assert found.left == pytest.approx(-1)
    assert found.sentence == "freshness 95% within 5m: its budget is used up"


def test_what_is_recorded_since_yesterday_is_judged_by_that() -> None:
    assert late((4 * HOUR, 36 * MINUTE), since=DAY).left == pytest.approx(0.5)
    assert late((4 * HOUR, 36 * MINUTE), since=DAY).since == NOW - DAY


def test_nothing_is_known_before_a_look_has_begun_to_record_it() -> None:
    (found,) = budgets(FRESH, Kept(NOW))
    assert (found.kept, found.left, found.burns) == (None, None, None)
    assert found.sentence == "freshness 95% within 5m: nothing is recorded yet"


@pytest.mark.parametrize(
    ("spans", "burns"),
    [
        # 14.4 times in an hour is 43 minutes of it.
        ([(44 * MINUTE, 44 * MINUTE)], Urgency.PAGE),
        ([(42 * MINUTE, 42 * MINUTE)], None),
        ([(60 * MINUTE, 50 * MINUTE)], None),
        # 6 times in six hours is 108 minutes of it.
        ([(350 * MINUTE, 100 * MINUTE), (15 * MINUTE, 15 * MINUTE)], Urgency.PAGE),
        # 3 times in a day is 216 minutes of it.
        ([(20 * HOUR, 210 * MINUTE), (10 * MINUTE, 10 * MINUTE)], None),
        ([(20 * HOUR, 200 * MINUTE), (50 * MINUTE, 20 * MINUTE)], Urgency.TICKET),
        # 1 time in three days is 216 minutes, of which 18 in the last six hours.
        ([(60 * HOUR, 200 * MINUTE), (5 * HOUR, 20 * MINUTE)], Urgency.TICKET),
        ([(60 * HOUR, 230 * MINUTE)], None),
    ],
)
def test_it_burns_too_fast_by_the_windows_of_the_alerts(
    spans: list[tuple[timedelta, timedelta]], burns: Urgency | None
) -> None:
    assert late(*spans).burns is burns


def test_syncs_that_fail_use_up_the_other_budget() -> None:
    found = ended(month=(9_995, 5))
    assert found.left == pytest.approx(0.5)
    assert found.kept == pytest.approx(0.9995)
    assert found.since is None, "the ledger has all of them"


def test_one_failure_pages_nobody_and_two_do() -> None:
    assert ended(hour=(59, 1)).burns is None
    found = ended(hour=(58, 2))
    assert found.burns is Urgency.PAGE
    assert found.sentence == "success 99.9%: its budget is used up, and burns up to 33.3 times as fast as it may"


def test_a_table_without_a_sync_has_burnt_nothing_that_is_known() -> None:
    assert ended().left is None
    assert ended().rates == {}


def test_a_table_without_objectives_has_no_budgets() -> None:
    assert budgets(Objectives(), Kept(NOW, NOW - MONTH)) == ()
