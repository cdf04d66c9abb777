"""What several threads ask for at the same time is done together, by one of them; what comes meanwhile is the next round's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

Round = Sequence[tuple[Asked, "Future[Answer]"]]
"""What one round is asked for, with the futures that its answers go to."""


class Combining(Generic[Asked, Answer]):
    """One round at a time. `work` answers all of its futures, or raises what all of them are answered with."""

    def __init__(self, work: Callable[[Round[Asked, Answer]], None]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._waiting: list[tuple[Asked, Future[Answer]]] = []
        self._at_work = False

    def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """The answers, in order. What the first one that failed raises is raised when all are there."""
        answers: list[Future[Answer]] = [Future() for _ in asked]
        with self._changed:
            self._waiting += zip(asked, answers, strict=True)
            while not all(answer.done() for answer in answers):
                if self._at_work:
                    self._changed.wait()
                    continue
                taken, self._waiting, self._at_work = self._waiting, [], True
                self._changed.release()
                try:
                    self._do(taken)
                finally:
                    self._changed.acquire()
                    self._at_work = False
                    self._changed.notify_all()
        return [answer.result() for answer in answers]

    def answered(self, answer: Future[Answer], value: Answer) -> None:
        """Tell one answer before the round is over, so that whoever waits for it goes on."""
        with self._changed:
            answer.set_result(value)
            self._changed.notify_all()

    def _do(self, taken: Round[Asked, Answer]) -> None:
        try:
            self._work(taken)
        except BaseException as error:  # noqa: BLE001 - raised in each of the threads that wait for it
            for _, answer in taken:
                if not answer.done():
                    answer.set_exception(error)
