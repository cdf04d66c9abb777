"""Work in other threads, answer by answer."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from incremental_assets.core.concurrency.background import as_they_end, in_background, side_by_side


def work(number: int, begun: list[int]) -> int:
    begun.append(number)
    return number


def test_so_many_are_under_way_at_once_and_no_more() -> None:
    both, lock, running, most = threading.Barrier(2, timeout=60), threading.Lock(), 0, 0

    def meet() -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait()
        with lock:
            running -= 1
        return "met"

    # Each of them waits for another: one at a time, they would never end.
    assert list(as_they_end([meet] * 6, 2)) == ["met"] * 6
    assert most == 2


def test_two_works_side_by_side_meet_and_if_one_fails_the_other_has_ended() -> None:
    both, ended = threading.Barrier(2, timeout=60), threading.Event()

    def meet(word: str) -> str:
        both.wait()
        return word

    def meet_and_fail() -> str:
        both.wait()
        raise ValueError("the other one")

    def go_on() -> None:
        both.wait()
        # What follows takes longer than to fail does.
        ended.wait(0.2)
        ended.set()

    assert side_by_side(lambda: meet("one"), lambda: meet("two")) == ("one", "two")
    with pytest.raises(ValueError, match="the other one"):
        side_by_side(go_on, meet_and_fail)
    assert ended.is_set()


def test_the_first_to_end_is_the_first_to_be_told() -> None:
    told = threading.Event()

    def slow() -> str:
        assert told.wait(60)
        return "slow"

    answers = as_they_end([slow, lambda: "quick"], 2)
    assert next(answers) == "quick"
    told.set()
    assert list(answers) == ["slow"]


def test_one_at_a_time_they_come_in_their_order() -> None:
    begun: list[int] = []
    works = [partial(work, number, begun) for number in range(5)]
    for number, answer in enumerate(as_they_end(works, 1)):
        assert (answer, begun) == (number, list(range(number + 1)))


def test_what_one_raises_is_raised_and_no_other_begins() -> None:
    begun: list[int] = []

    def fails() -> int:
        raise ZeroDivisionError("division by zero")

    works: list[Callable[[], int]] = [partial(work, 1, begun), fails, partial(work, 3, begun)]
    answers = as_they_end(works, 1)
    assert next(answers) == 1
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        next(answers)
    assert list(answers) == []
    assert begun == [1]


def test_whoever_stops_listening_begins_no_other() -> None:
    begun: list[int] = []
    answers = as_they_end([partial(work, number, begun) for number in range(5)], 1)
    next(answers)
    answers.close()
    assert begun == [0]


def test_nothing_to_do_is_done() -> None:
    assert list(as_they_end([], 4)) == []


def test_a_process_that_ends_does_not_wait_for_it() -> None:
    program = (
        "import threading\n"
        f"from {in_background.__module__} import in_background\n"
        "in_background(threading.Event().wait)\n"
        "raise SystemExit(7)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 7
