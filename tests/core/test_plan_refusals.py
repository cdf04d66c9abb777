"""Which sources and which terms stop a sync before it begins, and which do not?"""

from dataclasses import replace
from datetime import timedelta

import pytest

from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.errors import SourceExchanged, TermsChanged
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.table import Strategy, TableSpec
from incremental_assets.core.planning.plan import Request
from tests.core.plans import NOON, REFRESH, SYNC, backfill, landed, moment, nothing, planned, seen
from tests.scenario import countries, orders
from tests.snapshots import as_read


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (SourceIdentity.of(1, 5000, system="7002", database="shop"), "system 7002, was 7001"),
        (SourceIdentity.of(1, 5000, system="7001", database="shop_copy"), "database shop_copy, was shop"),
        (SourceIdentity.of(2, 999, system="7001", database="shop"), "restored from an older copy"),
    ],
)
@pytest.mark.parametrize("request_", [SYNC, backfill("08:00:00", "09:00:00")], ids=["sync", "backfill"])
def test_another_source_or_an_older_copy_of_it_is_not_read(
    found: SourceIdentity, named: str, request_: Request
) -> None:
    with pytest.raises(SourceExchanged, match=named):
        planned(orders(), landed(orders(), moment("11:00:00")), seen(identity=found), request_)


def test_a_failover_to_a_replica_goes_on() -> None:
    state = landed(orders(), moment("11:00:00"))
    assert planned(
        orders(), state, seen(identity=SourceIdentity.of(2, 1001, system="7001", database="shop"))
    ).reading.window.lower == moment("11:00:00")


def behind(minutes: int, *, replica: bool = True, timeline: int = 1) -> DatabaseObservation:
    """So long after the last sync, a server answers that is a byte behind what that had seen."""
    found = seen(
        NOON - timedelta(hours=1) + timedelta(minutes=minutes),
        identity=SourceIdentity.of(timeline, 999, system="7001", database="shop"),
    )
    return replace(found, bound=replace(found.bound, replica=replica))


@pytest.mark.parametrize("spec", [orders(), countries()], ids=["incremental", "whole"])
def test_from_a_replica_that_lags_behind_another_nothing_is_read_and_nothing_stops(spec: TableSpec) -> None:
    found = nothing(spec, landed(spec), behind(59))
    assert (found.guarantee, found.state) == (Guarantee.BEST_EFFORT, None)
    assert found.warnings == (found.guarantee_reason,)
    assert "yet to replay 1 bytes" in found.guarantee_reason


@pytest.mark.parametrize(
    ("observation", "request_"),
    [
        (behind(61), SYNC),
        (behind(59, replica=False), SYNC),
        (behind(59, timeline=0), SYNC),
        (behind(59), backfill("08:00:00", "09:00:00")),
    ],
    ids=["for an hour", "a primary", "an older timeline", "a backfill"],
)
def test_what_is_behind_and_cannot_be_a_lag_still_stops(observation: DatabaseObservation, request_: Request) -> None:
    with pytest.raises(SourceExchanged, match="before the 1,000 of the last sync"):
        planned(orders(), landed(orders(), moment("11:00:00")), observation, request_)


def test_a_run_on_another_timeline_is_a_best_effort() -> None:
    state = landed(orders(), moment("11:00:00"))
    found = planned(orders(), state, seen(identity=SourceIdentity.of(2, 1001, system="7001", database="shop")))
    assert found.reading.settled.guarantee is Guarantee.BEST_EFFORT
    assert "from timeline 1 to 2" in found.reading.settled.reason


def test_a_full_refresh_accepts_the_new_source_and_keeps_its_identity() -> None:
    other = SourceIdentity.of(1, 3, system="7002", database="shop")
    after = landed_state(
        planned(orders(), landed(orders(), moment("11:00:00")), seen(identity=other), REFRESH), as_read(1, None, None)
    )
    assert after.identity == other


@pytest.mark.parametrize(
    ("now", "named"),
    [
        (orders(Strategy.APPEND), "strategy upsert -> append"),
        (orders(cursor="id"), "cursor updated_at:timestamp -> id:integer"),
        (replace(orders(), key=("id", "customer")), "key id -> id, customer"),
        (orders(Strategy.FULL_REFRESH), "strategy upsert -> full_refresh"),
    ],
)
def test_changed_terms_are_refused_by_name(now: TableSpec, named: str) -> None:
    with pytest.raises(TermsChanged, match=named):
        planned(now, landed(orders(), moment("11:00:00")), seen())
