"""What several threads ask for at the same time is done together, by one of them; what comes meanwhile is the next round's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from incremental_assets.core.concurrency.cohort import LOCK, Cohort, Rank, cohort
from incremental_assets.core.errors import Interrupted

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

Round = Sequence[tuple[Asked, "Future[Answer]"]]
"""What one round is asked for, with the futures that its answers go to."""

_FIRST_TAKES = 2.0
"""Seconds, until one has been measured."""
_LEAST, _MOST = 0.5, 5.0
"""Seconds between which a round waits for somebody to come: less is noise of a busy machine, and more would be noticed."""
_IN_ALL = 4
"""Times as long may it wait while one after the other comes."""


@dataclass(eq=False, slots=True)
class _Asker(Generic[Asked, Answer]):
    """A thread and what it has asked for; `turn` is set when it has something to see to."""

    asked: list[tuple[Asked, Future[Answer]]]
    cohort: Cohort | None
    came: float = field(default_factory=time.monotonic)
    turn: threading.Event = field(default_factory=threading.Event)

    @property
    def is_answered(self) -> bool:
        return all(answer.done() for _, answer in self.asked)


class Combining(Generic[Asked, Answer]):
    """One round at a time. `work` answers all of its futures, or raises what all of them are answered with.

    Without a `rank` a round begins as soon as the one before it has ended. With one it waits for those of the asker's cohort who are
    still on their way, as long as somebody comes within the time that a round takes: to wait longer costs more than one round more.
    """

    def __init__(self, work: Callable[[Round[Asked, Answer]], None], rank: Rank | None = None) -> None:
        self._work, self._gathers, self.rank = work, rank is not None, rank or Rank.SNAPSHOT
        self._waiting: list[_Asker[Asked, Answer]] = []
        self._at_work = False
        self._takes = _FIRST_TAKES

    @property
    def waiting(self) -> int:
        """Asked for, and not in a round yet."""
        with LOCK:
            return sum(len(asker.asked) for asker in self._waiting)

    def ask(self, asked: Sequence[Asked]) -> list[Answer]:
        """The answers, in order. What the first one that failed raises is raised when all are there."""
        mine = _Asker[Asked, Answer]([(each, Future()) for each in asked], cohort() if self._gathers else None)
        for _, answer in mine.asked:
            answer.add_done_callback(lambda _: mine.turn.set())
        try:
            if mine.asked:
                self._join(mine)
            while not mine.is_answered:
                mine.turn.clear()
                taken, patience = self._taken(mine)
                if taken:
                    self._play([each for asker in taken for each in asker.asked])
                elif not mine.is_answered:
                    mine.turn.wait(patience)
        finally:
            self._leave(mine)
        return [answer.result() for _, answer in mine.asked]

    def look(self) -> None:
        """Wake who begins the next round, if one may begin. Under LOCK."""
        if self._waiting and not self._at_work:
            self._waiting[0].turn.set()

    def _join(self, mine: _Asker[Asked, Answer]) -> None:
        with LOCK:
            self._waiting.append(mine)
            if mine.cohort is not None:
                mine.cohort.came(self)

    def _leave(self, mine: _Asker[Asked, Answer]) -> None:
        """Remove an asker that is in no round yet, as after an interrupt: it would keep all others from beginning the next one."""
        with LOCK:
            if mine in self._waiting:
                self._waiting.remove(mine)
                if mine.cohort is not None:
                    mine.cohort.went(self)
                self.look()

    def _taken(self, mine: _Asker[Asked, Answer]) -> tuple[list[_Asker[Asked, Answer]], float | None]:
        """Whom the next round is for, where it is this thread's to begin; else for how many seconds there is nothing to see to, None: until it is called."""
        with LOCK:
            if self._at_work or not self._waiting or self._waiting[0] is not mine:
                return [], None
            left = self._patience()
            if left > 0:
                return [], left
            taken, self._waiting, self._at_work = self._waiting, [], True
            for asker in taken:
                if asker.cohort is not None:
                    asker.cohort.went(self)
            return taken, None

    def _patience(self) -> float:
        """Seconds for which it is worth to wait for others; none where none are on their way."""
        cohorts = {asker.cohort for asker in self._waiting if asker.cohort is not None}
        if all(each.is_there(self) for each in cohorts):
            return 0
        begun, last, now = self._waiting[0].came, self._waiting[-1].came, time.monotonic()
        return min(last + self._takes, begun + _IN_ALL * self._takes) - now

    def _play(self, taken: Round[Asked, Answer]) -> None:
        begun = time.monotonic()
        try:
            self._work(taken)
        except BaseException as error:
            # An end from outside is this thread's alone: the others learn that what they share with it was interrupted.
            met = error if isinstance(error, Exception) else Interrupted("what was done together with others")
            for _, answer in taken:
                if not answer.done():
                    answer.set_exception(met)
            if met is not error:
                raise
        finally:
            with LOCK:
                self._takes = min(_MOST, max(_LEAST, time.monotonic() - begun))
                self._at_work = False
                self.look()
