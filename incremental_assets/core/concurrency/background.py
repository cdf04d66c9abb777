"""Work in background threads that do not delay the exit of a process, as the threads of a pool would."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from threading import Thread
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Other = TypeVar("Other")


_HEARS_WITHIN = 0.25
"""Seconds. A signal that comes just before a wait begins does not wake it, and its handler runs only afterwards."""

Left = Callable[[Collection[Future[Any]], BaseException], None]
"""What is done with running work when its caller stops waiting, and why."""


def leave_running(_: Collection[Future[Any]], __: BaseException) -> None:
    """Running work continues in the background."""


def in_background(work: Callable[[], Answer]) -> Future[Answer]:
    """Start it; an error is raised where the result is requested."""
    answer: Future[Answer] = Future()
    _begin(work, answer)
    return answer


def side_by_side(work: Callable[[], Answer], other: Callable[[], Other]) -> tuple[Answer, Other]:
    """Work on both at once, the first in the background; both results. If the other fails, its error is raised once the first has ended; an interrupt does not wait."""
    begun = in_background(work)
    try:
        answer = other()
    except Exception:
        # More would otherwise be under way than may be: the next table's count beside this one, which nobody waits for.
        wait([begun])
        raise
    return begun.result(), answer


def _begin(work: Callable[[], Answer], answer: Future[Answer]) -> None:
    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            answer.set_exception(error)

    Thread(target=run, name="background", daemon=True).start()


def as_they_end(works: Iterable[Callable[[], Answer]], parallel: int, left: Left = leave_running) -> Generator[Answer]:
    """The results as they arrive, `parallel` calls at a time. If the caller stops iterating, no further call begins."""
    return in_lanes([(works, parallel)], left)


def in_lanes(
    lanes: Iterable[tuple[Iterable[Callable[[], Answer]], int]], left: Left = leave_running
) -> Generator[Answer]:
    """The same of several such queues side by side, each with its own number of works at a time."""
    queues = [(deque(works), max(1, parallel)) for works, parallel in lanes]
    begun: dict[Future[Answer], int] = {}
    try:
        while begun or any(ahead for ahead, _ in queues):
            for lane, (ahead, parallel) in enumerate(queues):
                while ahead and list(begun.values()).count(lane) < parallel:
                    # Known before it begins: a signal may come at any step of this.
                    answer = Future[Answer]()
                    begun[answer] = lane
                    _begin(ahead.popleft(), answer)
            ended, _ = wait(begun, _HEARS_WITHIN, FIRST_COMPLETED)
            for answer in ended:
                del begun[answer]
                yield answer.result()
    except BaseException as why:
        left(begun.keys(), why)
        raise
