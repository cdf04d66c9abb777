"""Works that run side by side and meet in the same rounds: who of them is still on its way, so that a round need not begin without it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from typing import Protocol, TypeVar

Answer = TypeVar("Answer")

LOCK = threading.Lock()
"""The lock of all cohorts and all that they meet in: held for a few steps, never while anything works."""


class Rank(IntEnum):
    """The places where the works of a sync meet, in their order: a work that waits at one has the higher ones still before it."""

    SNAPSHOT = 0
    JOB = 1
    ROOM = 2
    """Not a place to meet: who waits here for what others hold is waited for by nobody."""


class Meeting(Protocol):
    """A meeting, where works of a cohort wait for each other. Called under LOCK."""

    rank: Rank

    def look(self) -> None:
        """Check again whether to begin, as no work of a cohort is under way any more. Under LOCK."""


class Cohort:
    """The works of one run. Each is under way, waits in a meeting, or has gone apart: then nobody waits for it."""

    def __init__(self) -> None:
        self._under_way = 0
        self._waits: Counter[Meeting] = Counter()

    def lane(self, works: int, at_once: int) -> Lane:
        """A lane of so many works, of which a few at a time are under way from now on."""
        with LOCK:
            begin = min(works, max(1, at_once))
            self._under_way += begin
            return Lane(self, works - begin)

    def is_there(self, meeting: Meeting) -> bool:
        """Whether nobody comes before this meeting begins: all wait, and nobody for an earlier one. Under LOCK."""
        return not self._under_way and all(other.rank >= meeting.rank for other in self._waits)

    def came(self, meeting: Meeting) -> None:
        """One of its works waits. Under LOCK."""
        self._waits[meeting] += 1
        self.changed(-1)

    def went(self, meeting: Meeting) -> None:
        """The meeting has begun with it. Under LOCK."""
        self._waits[meeting] -= 1
        self._waits += Counter()
        self._under_way += 1

    def changed(self, by: int) -> None:
        """Count so many more works as under way. Under LOCK."""
        self._under_way += by
        if not self._under_way:
            for meeting in tuple(self._waits):
                meeting.look()


class Lane:
    """Works of a cohort of which as many end as begin."""

    def __init__(self, cohort: Cohort, ahead: int) -> None:
        self._cohort, self._ahead = cohort, ahead

    def member(self, work: Callable[[], Answer]) -> Callable[[], Answer]:
        """The work as one of the cohort's, in whichever thread it is called."""

        def run() -> Answer:
            token = _here.set(self._cohort)
            try:
                return work()
            finally:
                self._ended(was_apart=_here.get() is None)
                _here.reset(token)

        return run

    def _ended(self, *, was_apart: bool) -> None:
        with LOCK:
            comes = self._ahead > 0
            self._ahead -= comes
            self._cohort.changed(comes - (not was_apart))


_here: ContextVar[Cohort | None] = ContextVar("cohort", default=None)


def cohort() -> Cohort | None:
    """That of the work in this thread, unless it has gone apart."""
    return _here.get()


def go_apart() -> None:
    """What this thread does now takes long: until the end of its work nobody waits for it."""
    left = _here.get()
    if left is not None:
        _here.set(None)
        with LOCK:
            left.changed(-1)


class _Room:
    """Where works wait for what works in a meeting may hold."""

    rank = Rank.ROOM

    def look(self) -> None:
        """Nothing begins here."""


_room = _Room()


@contextmanager
def held_up() -> Iterator[None]:
    """In the block this thread waits for what others hold: no meeting waits for it, as its works may be those others."""
    here = _here.get()
    if here is None:
        yield
        return
    with LOCK:
        here.came(_room)
    try:
        yield
    finally:
        with LOCK:
            here.went(_room)
