"""When `sync --follow` syncs without a run of Dagster's, and what the next run tells of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from incremental_assets.cli.pace import EVERY, Pace
from incremental_assets.core.model.cursor import CursorType, CursorValue
from incremental_assets.core.model.number_keys import IntegerGrid
from incremental_assets.core.model.partition import Every, Grid, TimeGrid
from incremental_assets.core.model.window import Window
from incremental_assets.core.planning.plan import Mode, Request
from incremental_assets.core.planning.report import RowCounts, Status, SyncReport
from incremental_assets.core.preview.pending import Pending
from tests.scenario import ORDERS, orders

SPEC = orders()
DAYS = TimeGrid(Every.DAY, date(2026, 1, 1))


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Seen:
    """As far as partitions ask for it."""

    bound: Any
    highest: CursorValue | None = None


def moved(day: int = 5) -> Pending:
    """Rows of a day of January, seen in its evening."""
    evening = datetime(2026, 1, day, 20, tzinfo=UTC)
    lower = CursorValue.of(CursorType.TIMESTAMP, evening.replace(hour=8))
    return Pending(SPEC, Window(lower, None), Seen(SimpleNamespace(clock=evening)))  # type: ignore[arg-type]


def report(status: Status = Status.LANDED, read: int = 1) -> SyncReport:
    return replace(SyncReport.of(SPEC, Request("run", Mode.SYNC), status), rows=RowCounts(read=read))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    """A run has told of the fifth of January."""
    pace = Pace(clock)
    pace.told("shop", [moved()], lambda _: DAYS)
    return pace


def test_without_a_run_before_nothing_waits() -> None:
    assert not Pace(Clock()).waits("shop", [moved()], lambda _: DAYS)


def test_what_moves_again_in_its_partition_waits_until_the_time_is_over(pace: Pace, clock: Clock) -> None:
    assert pace.waits("shop", [moved()], lambda _: DAYS)
    assert not pace.waits("store", [moved()], lambda _: DAYS)
    clock.now += EVERY
    assert not pace.waits("shop", [moved()], lambda _: DAYS)


@pytest.mark.parametrize(
    ("found", "grid"),
    [
        pytest.param(moved(6), DAYS, id="another day"),
        pytest.param(replace(moved(6), window=Window(moved(5).window.lower, None)), DAYS, id="two days"),
        pytest.param(moved(), IntegerGrid(1000), id="keys that Dagster has to be asked for"),
    ],
)
def test_what_moves_elsewhere_is_a_run_at_once(pace: Pace, found: Pending, grid: Grid) -> None:
    assert not pace.waits("shop", [found], lambda _: grid)


@pytest.mark.parametrize("status", [Status.FAILED, Status.REFUSED, Status.BUSY, Status.PAUSED])
def test_after_a_sync_that_is_not_good_the_next_is_a_run(pace: Pace, status: Status) -> None:
    pace.landed("shop", [moved()], [report(status)])
    assert not pace.waits("shop", [moved()], lambda _: DAYS)


def test_the_next_run_tells_of_all_that_has_landed_and_of_it_once(pace: Pace, clock: Clock) -> None:
    for read in (2, 3):
        pace.landed("shop", [moved()], [report(read=read)])
    pace.landed("shop", [moved()], [report(Status.IDLE, read=0)])
    assert pace.owed("shop", []) == []
    clock.now += EVERY
    assert [found.spec.id for found in pace.owed("shop", [])] == [ORDERS]
    assert pace.owed("shop", [moved()]) == [], "a table that moves is told of by its own sync"
    assert pace.untold("shop")[ORDERS].rows.read == 5
    pace.told("shop", [], lambda _: DAYS)
    assert (pace.untold("shop"), pace.owed("shop", [])) == ({}, [])
