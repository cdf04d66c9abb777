"""What several threads ask for at the same time is done in one round, and each gets its own answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from incremental_assets.core.concurrency.combining import Combining, Round
from incremental_assets.core.errors import Interrupted
from tests.waiting import until


class Doubling:
    """Rounds that wait at a gate, so that the next askers gather meanwhile."""

    def __init__(self) -> None:
        self.rounds: list[list[int]] = []
        self.begun, self.gate = threading.Event(), threading.Event()
        self.together = Combining[int, int](self.work)

    def work(self, asked: Round[int, int]) -> None:
        self.rounds.append(sorted(number for number, _ in asked))
        self.begun.set()
        self.gate.wait(60)
        for number, answer in asked:
            if number < 0:
                answer.set_exception(ValueError(f"{number} is negative"))
            else:
                answer.set_result(number * 2)


def test_what_comes_while_a_round_is_at_work_is_one_round_more() -> None:
    doubling = Doubling()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(doubling.together.ask, [1])
        assert doubling.begun.wait(60)
        others = [pool.submit(doubling.together.ask, [number]) for number in (2, 3, 4)]
        until(lambda: doubling.together.waiting == 3)
        doubling.gate.set()
        assert [first.result(60), *(other.result(60) for other in others)] == [[2], [4], [6], [8]]
    assert doubling.rounds == [[1], [2, 3, 4]]


def test_several_that_are_asked_by_one_are_answered_in_order() -> None:
    doubling = Doubling()
    doubling.gate.set()
    assert doubling.together.ask([3, 1, 2]) == [6, 2, 4]
    assert doubling.together.ask([]) == []


def test_what_one_meets_is_raised_for_it_alone() -> None:
    doubling = Doubling()
    with ThreadPoolExecutor(3) as pool:
        waiting = pool.submit(doubling.together.ask, [1])
        assert doubling.begun.wait(60)
        good, bad = pool.submit(doubling.together.ask, [5]), pool.submit(doubling.together.ask, [-5])
        until(lambda: doubling.together.waiting == 2)
        doubling.gate.set()
        assert (waiting.result(60), good.result(60)) == ([2], [10])
        with pytest.raises(ValueError, match="-5 is negative"):
            bad.result(60)


def test_a_round_that_fails_as_a_whole_fails_for_all_that_have_no_answer_yet() -> None:
    def work(asked: Round[int, int]) -> None:
        asked[0][1].set_result(7)
        raise OSError("the line is cut")

    together = Combining[int, int](work)
    with pytest.raises(OSError, match="the line is cut"):
        together.ask([1, 2])
    # The next round is not held up by it.
    assert together.ask([1]) == [7]


def test_who_is_interrupted_while_he_waits_for_his_turn_holds_no_other_up() -> None:
    doubling, waited = Doubling(), threading.Event.wait
    interrupted = threading.Event()

    def interrupted_wait(turn: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread().name.startswith("interrupted"):
            interrupted.set()
            until(lambda: doubling.together.waiting == 2)
            raise KeyboardInterrupt
        return waited(turn, timeout)

    with pytest.MonkeyPatch.context() as patched, ThreadPoolExecutor(2) as pool:
        first = pool.submit(doubling.together.ask, [1])
        assert doubling.begun.wait(60)
        patched.setattr(threading.Event, "wait", interrupted_wait)
        with ThreadPoolExecutor(1, "interrupted") as stopped:
            second = stopped.submit(doubling.together.ask, [2])
            assert waited(interrupted, 10)
            third = pool.submit(doubling.together.ask, [3])
            with pytest.raises(KeyboardInterrupt):
                second.result(60)
        doubling.gate.set()
        assert (first.result(60), third.result(60)) == ([2], [6])
    assert doubling.rounds == [[1], [3]]


def test_an_end_from_outside_ends_the_thread_that_plays_the_round_and_interrupts_the_others() -> None:
    doubling = Doubling()

    def work(asked: Round[int, int]) -> None:
        doubling.work([asked[0]])
        if len(asked) > 1:
            raise KeyboardInterrupt

    stopped = Combining[int, int](work)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(stopped.ask, [1])
        assert doubling.begun.wait(60)
        others = [pool.submit(stopped.ask, [2])]
        until(lambda: stopped.waiting == 1)
        others.append(pool.submit(stopped.ask, [3]))
        until(lambda: stopped.waiting == 2)
        doubling.gate.set()
        assert first.result(60) == [2]
        # It ends although its own answer was there.
        with pytest.raises(KeyboardInterrupt):
            others[0].result(60)
        with pytest.raises(Interrupted, match="interrupted before it landed"):
            others[1].result(60)
        assert stopped.ask([4]) == [8]
