"""Works of one run meet in the same rounds: who is on the way is waited for, who has gone or takes too long is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from incremental_assets.core.concurrency import combining
from incremental_assets.core.concurrency.cohort import Cohort, Rank, go_apart
from incremental_assets.core.concurrency.combining import Combining, Round
from tests.waiting import until


class Doubling:
    """Rounds, and what was asked for in each."""

    def __init__(self, rank: Rank | None = Rank.JOB) -> None:
        self.rounds: list[list[int]] = []
        self.together = Combining[int, int](self.work, rank)

    def work(self, asked: Round[int, int]) -> None:
        self.rounds.append(sorted(number for number, _ in asked))
        for number, answer in asked:
            answer.set_result(number * 2)

    def ask(self, number: int) -> int:
        (answer,) = self.together.ask([number])
        return answer


def side_by_side(works: list[Callable[[], Any]], at_once: int = 8) -> list[Any]:
    """What works of one cohort give."""
    lane = Cohort().lane(len(works), at_once)
    with ThreadPoolExecutor(at_once) as pool:
        return [each.result(60) for each in [pool.submit(lane.member(work)) for work in works]]


@pytest.mark.usefixtures("patient")
def test_a_round_begins_when_all_have_come_however_late_the_last_one() -> None:
    doubling, first_waits = Doubling(), threading.Event()

    def late() -> int:
        assert first_waits.wait(60)
        until(lambda: doubling.together.waiting == 2)
        return doubling.ask(3)

    def first(number: int) -> int:
        first_waits.set()
        return doubling.ask(number)

    assert side_by_side([lambda: first(1), lambda: first(2), late]) == [2, 4, 6]
    assert doubling.rounds == [[1, 2, 3]]


@pytest.mark.usefixtures("patient")
def test_who_comes_no_more_is_not_waited_for() -> None:
    doubling = Doubling()

    def meets_others() -> None:
        until(lambda: doubling.together.waiting == 2)

    def fails() -> int:
        meets_others()
        raise ValueError("refused")

    def goes_apart() -> int:
        meets_others()
        go_apart()
        until(lambda: doubling.rounds != [])
        return 0

    with pytest.raises(ValueError, match="refused"):
        side_by_side([lambda: doubling.ask(1), lambda: doubling.ask(2), goes_apart, fails])
    assert doubling.rounds == [[1, 2]]


@pytest.mark.usefixtures("patient")
def test_the_seat_of_one_that_ends_is_taken_by_the_next() -> None:
    doubling = Doubling()
    works: list[Callable[[], int]] = [
        lambda: 0,
        lambda: doubling.ask(1),
        lambda: 0,
        go_and_end,
        lambda: doubling.ask(2),
    ]
    side_by_side(works, at_once=2)
    assert doubling.rounds == [[1, 2]]


def go_and_end() -> int:
    """One of whom nobody expects anything."""
    go_apart()
    return 0


@pytest.mark.usefixtures("patient")
def test_whoever_waits_for_a_snapshot_has_the_job_before_him_and_the_others_wait_for_that() -> None:
    snapshot, job = Doubling(Rank.SNAPSHOT), Doubling(Rank.JOB)

    def through_both(number: int) -> int:
        return job.ask(snapshot.ask(number))

    # Two sources, and a table that needs no snapshot.
    other = Doubling(Rank.SNAPSHOT)
    works: list[Callable[[], int]] = [
        lambda: through_both(1),
        lambda: through_both(2),
        lambda: job.ask(other.ask(3)),
        lambda: job.ask(4),
    ]
    assert side_by_side(works) == [4, 8, 12, 8]
    assert (snapshot.rounds, other.rounds, job.rounds) == ([[1, 2]], [[3]], [[2, 4, 4, 6]])


def test_one_that_is_slow_holds_the_others_up_no_longer_than_a_round_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combining, "_FIRST_TAKES", 0.05)
    doubling, begun, both = Doubling(), time.monotonic(), threading.Event()
    # The time begins to pass when both others have come, however late a busy machine lets them.
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() if both.is_set() else begun)
    monkeypatch.setattr(combining, "time", clock)

    def slow() -> int:
        until(lambda: doubling.together.waiting == 2)
        both.set()
        until(lambda: doubling.rounds != [])
        return doubling.ask(3)

    assert side_by_side([lambda: doubling.ask(1), lambda: doubling.ask(2), slow]) == [2, 4, 6]
    assert doubling.rounds == [[1, 2], [3]]


@pytest.mark.usefixtures("patient")
def test_who_is_of_no_company_waits_for_nobody() -> None:
    doubling = Doubling()
    assert doubling.ask(1) == 2


@pytest.mark.usefixtures("patient")
def test_rounds_without_a_rank_begin_at_once() -> None:
    transactions = Doubling(None)

    def later() -> int:
        until(lambda: transactions.rounds != [])
        return transactions.ask(2)

    assert side_by_side([lambda: transactions.ask(1), later]) == [2, 4]
    assert transactions.rounds == [[1], [2]]


@pytest.mark.usefixtures("patient")
def test_who_is_interrupted_while_he_waits_is_on_his_way_again(monkeypatch: pytest.MonkeyPatch) -> None:
    doubling, waited, second = Doubling(), threading.Event.wait, threading.local()

    def interrupted_wait(turn: threading.Event, timeout: float | None = None) -> bool:
        if getattr(second, "is_here", False):
            raise KeyboardInterrupt
        return waited(turn, timeout)

    monkeypatch.setattr(threading.Event, "wait", interrupted_wait)

    def interrupted() -> int:
        until(lambda: doubling.together.waiting == 1)
        second.is_here = True
        with pytest.raises(KeyboardInterrupt):
            doubling.ask(2)
        second.is_here = False
        return doubling.ask(3)

    assert side_by_side([lambda: doubling.ask(1), interrupted]) == [2, 6]
    assert doubling.rounds == [[1, 3]]
