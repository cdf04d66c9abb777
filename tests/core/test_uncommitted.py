"""What an open transaction has written holds the watermark, whatever its start says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from incremental_assets.core.captures.database.bound import Bound
from incremental_assets.core.captures.database.landed_state import landed_state
from incremental_assets.core.captures.database.observation import DatabaseObservation
from incremental_assets.core.captures.database.windows import settling
from incremental_assets.core.captures.planner import plan
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.guarantee import Guarantee
from incremental_assets.core.model.source_identity import SourceIdentity
from incremental_assets.core.model.state import State
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import CommitIds, Request, SyncPlan
from incremental_assets.core.strategies import Strategy
from tests.scenario import countries, orders
from tests.snapshots import as_read

NOON = datetime(2024, 1, 31, 12, tzinfo=UTC)
SPEC = orders()


def bound(minutes: int, server: str = "one") -> Bound:
    clock = NOON + timedelta(minutes=minutes)
    return Bound(clock, None, "", None, "", "UTC", SourceIdentity.of(0, minutes, server=server))


def stamp(text: str) -> CursorValue:
    return CursorValue.parse(CursorType.TIMESTAMP, f"2024-01-31T{text}Z")


def decided(minutes: int, state: State | None, uncommitted: CursorValue | None = None) -> SyncPlan:
    found = plan(
        SPEC,
        Request("run"),
        state,
        CommitIds("app", minutes, "batch"),
        DatabaseObservation(bound(minutes), uncommitted=uncommitted),
    )
    assert isinstance(found, SyncPlan)
    return found


def landed(minutes: int, state: State | None = None, uncommitted: CursorValue | None = None) -> State:
    return landed_state(decided(minutes, state, uncommitted), as_read(1, None, None, None, ""))


def test_the_watermark_stops_at_the_smallest_stamp_that_is_written_and_not_committed() -> None:
    found = decided(10, landed(0), stamp("12:03:00"))
    assert found.reading.new_watermark == found.reading.settled.value == stamp("12:03:00")
    assert found.reading.settled.guarantee is Guarantee.SETTLED
    assert "12:03:00" in found.reading.settled.reason


def test_a_stamp_above_what_settles_holds_nothing() -> None:
    assert decided(10, landed(0), stamp("12:09:59")).reading.new_watermark == stamp("12:09:58")


@pytest.mark.parametrize(("state", "stays"), [(None, None), (landed(0), stamp("11:59:58"))])
def test_where_the_question_failed_the_watermark_stays(state: State | None, stays: CursorValue | None) -> None:
    assert decided(10, state, CursorValue(CursorType.TIMESTAMP, "-infinity")).reading.new_watermark == stays


def test_asked_is_what_would_settle_beyond_the_last_watermark() -> None:
    assert settling(SPEC, None, bound(0)) == Window(None, stamp("11:59:58"))
    assert settling(SPEC, landed(0), bound(10)) == Window(stamp("11:59:58"), stamp("12:09:58"))
    assert settling(replace(SPEC, lookback=timedelta(hours=1)), landed(0), bound(10)) == Window(
        stamp("11:59:58"), stamp("12:09:58")
    )
    assert settling(SPEC, landed(0), bound(0)) is None


def test_of_another_source_everything_is_asked() -> None:
    assert settling(SPEC, landed(0), bound(10, server="two")) == Window(None, stamp("12:09:58"))


def test_numbers_and_whole_tables_are_not_asked() -> None:
    assert settling(orders(Strategy.APPEND, cursor="id"), None, bound(0)) is None
    assert settling(countries(), None, bound(0)) is None
