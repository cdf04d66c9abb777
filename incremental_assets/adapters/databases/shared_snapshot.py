"""One snapshot for all tables that ask for one at the same time: each has taken its bound before, and none is seen later than the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Lock

from incremental_assets.adapters.databases.dialect import Numbers
from incremental_assets.core.concurrency.cohort import Rank
from incremental_assets.core.concurrency.combining import Combining, Round
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.planning.plan import SyncPlan

Ask = Callable[[Sequence[SyncPlan]], Sequence[Numbers]]
"""What a snapshot says of the windows of some plans. What is raised for one of them leaves the snapshot as it was."""

MOST_BYTES = 64 * 2**20
"""A table that is larger in the source has a snapshot of its own: to count it may take long, and to read it keeps the snapshot open."""


class _Ended(Exception):
    """The snapshot went while several tables asked it: each is asked in one of its own, so that an error is that of its own table."""


class _Held:
    """A snapshot that is open for as long as one of its tables reads."""

    def __init__(self, opened: ExitStack, readers: int) -> None:
        self._opened, self._readers, self._lock = opened, readers, Lock()
        self._failed: BaseException | None = None

    def leave(self, error: BaseException | None = None) -> None:
        """The last one closes it; after an error of any reader, as a snapshot that an error ended."""
        with self._lock:
            self._readers -= 1
            self._failed = self._failed or error
            is_last = not self._readers
        if is_last:
            failed = self._failed
            self._opened.__exit__(type(failed) if failed else None, failed, failed.__traceback__ if failed else None)


class SharedSnapshots:
    """`opened` begins a snapshot and gives what it can be asked."""

    def __init__(self, opened: Callable[[], AbstractContextManager[Ask]]) -> None:
        self._opened = opened
        self._together = Combining[SyncPlan, tuple[Numbers, _Held]](self._ask, Rank.SNAPSHOT)

    @property
    def waiting(self) -> int:
        """Plans that will share the next snapshot."""
        return self._together.waiting

    @contextmanager
    def numbers(self, plan: SyncPlan) -> Iterator[Numbers]:
        """The numbers of a plan, under a snapshot that is held at least until the block ends."""
        try:
            ((numbers, held),) = self._together.ask([plan])
        except _Ended:
            with self._opened() as ask:
                (alone,) = ask([plan])
                yield alone
            return
        try:
            yield numbers
        except BaseException as error:
            held.leave(error)
            raise
        held.leave()

    def _ask(self, plans: Round[SyncPlan, tuple[Numbers, _Held]]) -> None:
        with ExitStack() as opening:
            ask = opening.enter_context(self._opened())
            answers = _each(ask, [plan for plan, _ in plans])
            held = _Held(opening.pop_all(), len(plans))
        for (_, answer), found in zip(plans, answers, strict=True):
            if isinstance(found, Exception):
                # What one table asked may have ended the session for all.
                is_shared = isinstance(found, SourceUnreachable) and len(plans) > 1
                answer.set_exception(_Ended() if is_shared else found)
                held.leave()
            else:
                answer.set_result((found, held))


def _each(ask: Ask, plans: Sequence[SyncPlan]) -> Sequence[Numbers | Exception]:
    """The numbers of each plan or its error: of all plans at once, and where that fails one by one, so that an error is that of its own table and stops no other."""
    try:
        return ask(plans)
    except Exception as error:  # noqa: BLE001 - raised in the threads that asked
        if len(plans) == 1:
            return [error]
    return [found for plan in plans for found in _each(ask, [plan])]
