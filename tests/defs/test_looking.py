"""A source with an interval below Dagster's five seconds is looked at several times in one tick, and by the run that the tick requests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.planning.events import EventKind
from incremental_assets.defs import following, looking
from incremental_assets.defs.following import FOLLOWS_TAG
from incremental_assets.defs.looking import at_once, looks
from incremental_assets.defs.sensors import sync_tags
from tests.defs.studio import Studio, opened
from tests.defs.watch import Watch, settle
from tests.fakes import FakeCheckpoints, FakeProbe
from tests.scenario import monday, order

THREADS = {"use_threads": True, "num_workers": 4}


@dataclass
class Clock:
    """Time that passes while somebody sleeps, and what happens meanwhile."""

    now: float = 1_000_000.0
    slept: list[float] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        self.meanwhile()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (looking, following):
        monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def fast(tmp_path: Path) -> Iterator[Studio]:
    """Looked at each second, by a daemon with threads for its sensors."""
    with DagsterInstance.ephemeral(settings={"sensors": THREADS}) as instance:
        yield opened(tmp_path, instance, options="every: 1s\n")


def moments(clock: Clock, every: int, settings: Mapping[str, Any], takes: float = 0.0) -> list[float]:
    found = []
    with closing(looks(timedelta(seconds=every), settings)) as times:
        for _ in times:
            found.append(round(clock.now - 1_000_000.0, 2))
            clock.now += takes
    return found


def test_a_tick_looks_at_its_interval_until_the_daemon_s_next_round(clock: Clock) -> None:
    assert moments(clock, 1, THREADS) == [0, 1, 2, 3, 4]
    clock.now = 1_000_000.0
    assert moments(clock, 2, THREADS, takes=0.2) == [0, 2, 4]
    clock.now = 1_000_000.0
    assert moments(clock, 1, THREADS, takes=0.5) == [0, 1, 2, 3], "a fifth would end in the next round"
    clock.now = 1_000_000.0
    assert moments(clock, 1, THREADS, takes=1.6) == [0, 1.6]
    clock.now = 1_000_000.0
    assert moments(clock, 5, THREADS) == [0]
    assert moments(clock, 60, THREADS) == [pytest.approx(0, abs=0.1)]


def test_where_another_sensor_would_wait_for_it_a_tick_looks_once(clock: Clock) -> None:
    assert moments(clock, 1, {}) == [0]
    assert moments(clock, 1, {"use_threads": True, "num_workers": 1}) == [0]
    most = at_once(THREADS)
    assert most == min(4, (os.cpu_count() or 1) + 4) // 2
    others = [looks(timedelta(seconds=1), THREADS) for _ in range(most)]
    for other in others:
        next(other)
        next(other)
    clock.now = 1_000_000.0
    assert moments(clock, 1, THREADS) == [0]
    others.pop().close()
    clock.now = 1_000_000.0
    assert moments(clock, 1, THREADS) == [0, 1, 2, 3, 4]
    for other in others:
        other.close()


def test_what_comes_in_the_middle_of_a_tick_is_requested_by_it(fast: Studio, clock: Clock) -> None:
    monday(fast.world.database).abort()
    settle(fast)
    watch = Watch(fast)
    watch.tick()  # which tells of freshness, and so ends at once
    clock.slept.clear()

    def comes() -> None:
        if len(clock.slept) == 3:
            order(fast.world.database, "grace", fast.world.database.stamp())
            fast.world.pass_time(10)

    clock.meanwhile = comes
    assert [announced for *announced, _ in watch.asked()] == [["2024-01-01", "2024-01-01"]]
    assert len(clock.slept) == 3


def test_a_tick_waits_for_the_run_that_is_under_way_and_looks_then(fast: Studio, clock: Clock) -> None:
    monday(fast.world.database).abort()
    settle(fast)
    watch = Watch(fast)
    watch.tick()
    before, skipped = (
        watch.cursor,
        create_run_for_test(fast.instance, status=DagsterRunStatus.STARTED, tags=sync_tags(fast.view)),
    )
    assert "is still syncing shop" in watch.skipped()
    assert watch.cursor == before
    order(fast.world.database, "grace", fast.world.database.stamp())
    fast.world.pass_time(10)
    clock.meanwhile = lambda: fast.instance.report_run_failed(skipped) if len(clock.slept) % 4 == 2 else None
    clock.slept.clear()
    assert len(watch.runs()) == 1
    assert len(clock.slept) == 2


def test_a_tick_whose_source_does_not_answer_ends_at_once(fast: Studio, clock: Clock) -> None:
    fast.runtime.broken = SourceUnreachable("shop: nobody answers at localhost:5432; start it, or check host and port")
    watch = Watch(fast)
    assert "nobody answers" in watch.skipped()
    assert "tried again at" in watch.skipped()
    assert clock.slept == []


def test_a_run_follows_its_source_until_the_next_tick(fast: Studio, clock: Clock) -> None:
    monday(fast.world.database).abort()
    settle(fast)

    def comes() -> None:
        if len(clock.slept) in (1, 3):
            order(fast.world.database, f"number {len(clock.slept)}", fast.world.database.stamp())
            fast.world.pass_time(10)

    clock.meanwhile = comes
    before = len(fast.announced())
    result = fast.run("2024-01-01", mode="sync", follows=str(clock.now + 4.5))

    assert result.success
    assert len(clock.slept) == 4
    events = [event for event in fast.world.checkpoints.memory.events if event.run_id == result.run_id]
    assert [each.report.rows.inserted for each in events if each.kind is EventKind.LANDED and each.report] == [1, 1]
    # Dagster hears of both at once, by the end of the run.
    assert len(fast.announced()) - before == 1


@pytest.mark.parametrize(
    ("away", "question"),
    [pytest.param(FakeProbe, "observe", id="source"), pytest.param(FakeCheckpoints, "positions", id="checkpoints")],
)
def test_a_run_whose_look_fails_leaves_what_comes_to_the_sensor(
    fast: Studio, clock: Clock, monkeypatch: pytest.MonkeyPatch, away: type, question: str
) -> None:
    monday(fast.world.database).abort()
    settle(fast)

    def fails(*_: object) -> None:
        raise SourceUnreachable("shop: nobody answers")

    clock.meanwhile = lambda: monkeypatch.setattr(away, question, fails)
    assert fast.run("2024-01-01", mode="sync", follows=str(clock.now + 4.5)).success
    assert len(clock.slept) == 1


def test_a_run_that_nobody_asked_to_follow_ends(fast: Studio, clock: Clock) -> None:
    monday(fast.world.database).abort()
    for follows in ("", "soon", str(clock.now - 1)):
        assert fast.run("2024-01-01", mode="sync", follows=follows).success
    assert clock.slept == []


def test_a_run_leaves_to_the_sensor_what_is_of_another_partition(fast: Studio, clock: Clock) -> None:
    monday(fast.world.database).abort()
    settle(fast)

    def comes() -> None:
        fast.world.pass_time(40 * 86_400)
        order(fast.world.database, "of March", fast.world.database.stamp())
        fast.world.pass_time(10)

    clock.meanwhile = comes
    assert fast.run("2024-01-01", mode="sync", follows=str(clock.now + 4.5)).success
    assert len(clock.slept) == 1


def test_only_runs_of_a_source_with_a_short_interval_follow_it(tmp_path: Path) -> None:
    for every, follows in (("1s", True), ("4s", True), ("5s", False), ("1m", False)):
        with DagsterInstance.ephemeral() as instance:
            folder = tmp_path / every
            folder.mkdir()
            (run, *_) = Watch(opened(folder, instance, options=f"every: {every}\n")).runs()
        assert (FOLLOWS_TAG in run.tags) == follows, every
