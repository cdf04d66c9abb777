"""Work beside the caller's own: in a thread for which a process that is told to end does not wait, as it would for a pool's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Thread
from typing import TypeVar

Answer = TypeVar("Answer")


def beside(work: Callable[[], Answer]) -> Future[Answer]:
    """Begin it; what it raises is raised where the result is asked for."""
    answer: Future[Answer] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            answer.set_exception(error)

    Thread(target=run, name="beside", daemon=True).start()
    return answer


def as_they_end(works: Iterable[Callable[[], Answer]], parallel: int) -> Iterator[Answer]:
    """The answers in the order in which they are reached, `parallel` works at a time. Whoever stops listening begins no other."""
    ahead, begun = deque(works), set[Future[Answer]]()
    while ahead or begun:
        while ahead and len(begun) < max(1, parallel):
            begun.add(beside(ahead.popleft()))
        ended, begun = wait(begun, return_when=FIRST_COMPLETED)
        for answer in ended:
            yield answer.result()
