"""The sessions that one source serves us at once: one budget for all who ask it, counted by files that the kernel unlocks when a process dies.

No cycle of waits: a look holds one session and asks for no other; a snapshot leaves the last place to readers; a reader waits for nobody.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from incremental_assets.adapters.permissions import own_folder
from incremental_assets.core.concurrency.cohort import held_up
from incremental_assets.core.concurrency.interruption import this_process
from incremental_assets.core.errors import SourceFull

Opened = TypeVar("Opened")

PATIENCE = 20.0
"""Seconds for which a server without a free connection is asked again."""
_BY_OTHERS = 600.0
"""Seconds for which a budget is waited for that other processes hold alone: work of our own ends, of theirs nothing is known."""
_LOOKS_HAVE_ONE = 4
"""From so many sessions on one is for looks alone, so that a load of hours keeps nobody from seeing what has changed."""
_FEWER_FOR = 120.0
"""Seconds for which a source that had no connection left is asked by one session."""
_AGAIN = (0.1, 0.5)
"""Seconds until such a server is asked again."""
_POLL = (0.02, 0.08)
"""Seconds between two looks at what other processes hold, by chance, so that they do not meet again and again."""


@dataclass(frozen=True, slots=True)
class Budget:
    """At most so many sessions at once, of all processes that count in one folder. `place`: the source, without a secret."""

    place: str
    most: int
    folder: str = ""
    """Empty: this process counts alone."""

    @property
    def is_single(self) -> bool:
        """Whether the session that holds a snapshot reads its rows as well: no other may be opened beside it."""
        return self.most == 1 or _fewer.get(self.place, 0.0) > time.monotonic()

    def narrow(self) -> None:
        """The server had no connection left: what begins from now on has one session, for a while."""
        _fewer[self.place] = time.monotonic() + _FEWER_FOR

    @contextmanager
    def look(self) -> Iterator[None]:
        """One session, of a caller who holds no other one."""
        with self._one(range(self.most), alone=self.is_single):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One session, beside which readers may be opened."""
        with self._one(range(self._first, self.most - 1) if self.most > 1 else range(1), alone=self.is_single):
            yield

    @contextmanager
    def readers(self, wanted: int) -> Iterator[int]:
        """Sessions that read and hold up nobody: one is waited for, the others are those that are free."""
        places = _readers(self.most)
        with ExitStack() as held:
            held.enter_context(self._one(places))
            count = 1
            while count < wanted and (more := self._free(places)) is not None:
                held.callback(_release, more)
                count += 1
            yield count

    @contextmanager
    def kept(self) -> Iterator[bool]:
        """A session that may stay for hours, unless none can be spared: snapshots and readers, who wait for each other's ends, keep a place each."""
        found = self._free(range(self.most - 2, self._first, -1))
        try:
            yield found is not None
        finally:
            if found is not None:
                _release(found)

    @property
    def _first(self) -> int:
        return 1 if self.most >= _LOOKS_HAVE_ONE else 0

    @contextmanager
    def _one(self, places: Sequence[int], *, alone: bool = False) -> Iterator[None]:
        """One of the places; `alone`: only when this process has no other one."""
        found = None if alone and self.open else self._free(places)
        if found is None:
            with held_up():
                found = self._awaited(places)
        try:
            yield
        finally:
            _release(found)

    def _awaited(self, places: Sequence[int]) -> _Slot:
        reads = places == _readers(self.most)
        deadline = time.monotonic() + _BY_OTHERS
        while True:
            ours = self.open
            found = None if ours and self.is_single and not reads else self._free(places)
            if found is not None:
                return found
            this_process.refuse(self.place)
            if ours:
                deadline = time.monotonic() + _BY_OTHERS
            elif time.monotonic() > deadline:
                raise SourceFull(
                    f"{self.place}: other processes have held all connections that `parallel: {{connections: {self.most}}}` allows for "
                    f"{_BY_OTHERS / 60:.0f} minutes; try again when their work is done, or raise it"
                )
            with _changed:
                _changed.wait(random.uniform(*_POLL))  # noqa: S311 - no secret

    @property
    def open(self) -> int:
        """The places that this process has."""
        with _changed:
            return sum((each.budget.place, each.budget.folder) == (self.place, self.folder) for each in _held)

    def _free(self, places: Sequence[int]) -> _Slot | None:
        for place in places:
            slot = _Slot(self, place)
            with _changed:
                if slot in _held:
                    continue
                descriptor = slot.lock()
                if descriptor is not None:
                    _held[slot] = descriptor
                    return slot
        return None

    @property
    def files(self) -> Path:
        """Where the files lie; their folder says nothing of the source."""
        return Path(self.folder) / hashlib.sha256(self.place.encode()).hexdigest()[:16]


def patiently(opening: Callable[[], Opened], budget: Budget) -> Opened:
    """What `opening` opens, by who has a place: asked again where the server has no connection left, as long as sessions of our own may end, and for a while. Raises SourceFull."""
    deadline, waits = time.monotonic() + PATIENCE, False
    try:
        while True:
            try:
                return opening()
            except SourceFull:
                budget.narrow()
                if time.monotonic() > deadline:
                    raise
            if not waits:
                waits = True
                _count_waiting(budget, 1)
            with held_up(), _changed:
                _changed.wait(random.uniform(*_AGAIN))  # noqa: S311 - no secret
            this_process.refuse(budget.place)
            if budget.open > _waiting[budget.place]:
                deadline = time.monotonic() + PATIENCE
    finally:
        if waits:
            _count_waiting(budget, -1)


def _count_waiting(budget: Budget, by: int) -> None:
    with _changed:
        _waiting[budget.place] += by


def _readers(most: int) -> range:
    return range(most - 1, 0, -1) if most > 1 else range(1)


@dataclass(frozen=True, slots=True)
class _Slot:
    budget: Budget
    number: int

    def __hash__(self) -> int:
        return hash((self.budget.place, self.budget.folder, self.number))

    def __eq__(self, other: object) -> bool:
        """Of two configurations that allow the same source different numbers, too."""
        return isinstance(other, _Slot) and self._key == other._key

    @property
    def _key(self) -> tuple[str, str, int]:
        return self.budget.place, self.budget.folder, self.number

    def lock(self) -> int | None:
        """The descriptor that holds it, -1 where no file does; None where another process has it."""
        if not self.budget.folder:
            return -1
        try:
            own_folder(self.budget.files)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.budget.files / str(self.number), flags, 0o600)
        except OSError:
            # A home that cannot be written: this process counts alone, as without one.
            return -1
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            return -1
        return descriptor


_changed = threading.Condition()
_held: dict[_Slot, int] = {}
"""What this process holds: also where the disk's locks are those of a process and not of an open file."""
_fewer: dict[str, float] = {}
_waiting: Counter[str] = Counter()
"""Those who have a place, and no session yet."""


def _release(slot: _Slot) -> None:
    with _changed:
        descriptor = _held.pop(slot)
        if descriptor >= 0:
            os.close(descriptor)
        _changed.notify_all()


def _forked() -> None:
    """A child holds nothing of its parent: a lock would last as long as the last descriptor of it."""
    # Whoever held its lock at that moment is no thread of the child.
    vars(_changed).update(vars(threading.Condition()))
    for descriptor in _held.values():
        if descriptor >= 0:
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forked)
