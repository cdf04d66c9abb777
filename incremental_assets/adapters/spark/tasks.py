"""Work in Spark's tasks: units that several threads bring at the same time go into one job, and each thread gets the answer of its own."""

from __future__ import annotations

import importlib
import logging
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from incremental_assets.adapters.budget import Budget
from incremental_assets.adapters.lake_store.opened import Reached, reach, reached
from incremental_assets.adapters.lake_store.patience import begin_work
from incremental_assets.adapters.spark.error_text import words
from incremental_assets.adapters.spark.not_by_tasks import NotByTasks
from incremental_assets.adapters.spark.packages import lacking
from incremental_assets.adapters.spark.sending import expected, send
from incremental_assets.adapters.spark.session import is_remote
from incremental_assets.core.concurrency.cohort import Rank, go_apart
from incremental_assets.core.concurrency.combining import Combining, Round
from incremental_assets.core.errors import IncrementalAssetsError
from incremental_assets.core.words import listed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_log = logging.getLogger(__name__)

_SHARE_BYTES = 32 * 2**20
"""The bytes of units, at least, before they are spread over more tasks."""
_TASK_BYTES = 2**20
"""What a unit costs beside its bytes, expressed in bytes."""
_ALONE_BYTES = 64 * 2**20
"""From here on units are a job of their own at once: others would wait for it, and it for the one that is at work."""
_TASKS = 2
"""The tasks of several units, at least."""


class Unit(Protocol):
    """What one task works on: a plain value that its module's `apply` takes."""

    @property
    def size(self) -> int:
        """The bytes that it reads, about: by them units are spread over tasks, the largest first, and large ones are a job of their own."""


@runtime_checkable
class Asking(Protocol):
    """A unit that may ask a source while it works."""

    @property
    def budget(self) -> Budget | None:
        """That of the source; None where it asks none after all."""


class TaskFailed(Exception):
    """A task ended in an error that cannot be carried to the driver as it is; its words are."""


class TasksUnavailable(NotByTasks):
    """Spark's Python workers cannot do this: they lack this package, or one of them ended in the middle of it. Spark itself can do it all the same."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the tasks of a job share: the sessions that may be open to each source, and how the lake is reached."""

    limits: Mapping[Budget, int]
    store: Reached | None


_Answers = Callable[[Iterable[int]], Iterator[tuple[int, bytes]]]
"""A function that runs in a task: the answers of the units that it has, by the task's number, each with its place."""

_LACKS = -1
"""In place of a unit's number: what the worker lacks, which has done nothing."""
_LACKING = ("No module named", "PYTHON_VERSION_MISMATCH")
_DIED = ("Python worker exited unexpectedly", "Python worker failed to connect back", "Cannot run program")
"""Spark's words."""


class Tasks:
    """Units that come while a job runs go together into the next one, of whatever table; from `_ALONE_BYTES` on they are a job of their own at once."""

    def __init__(self, session: Callable[[], SparkSession], lake: str = "") -> None:
        self.session = session
        """The session, which is opened where it is first needed."""
        self._lake = lake
        self._together = Combining[tuple[str, Unit], Any](self._play, Rank.JOB)
        self._lacking = False

    @property
    def waiting(self) -> int:
        """Units that go into the next job."""
        return self._together.waiting

    def run(self, module: str, unit: Unit) -> Any:
        """What `apply(unit)` of a module returns in a task; what it raises is raised here. Raises TasksUnavailable."""
        (answer,) = self.run_all(module, [unit])
        return answer

    def run_all(self, module: str, units: Sequence[Unit]) -> list[Any]:
        """The same of several units, side by side; what the first one that fails raises is raised when all have ended."""
        asked = [(module, unit) for unit in units]
        if sum(unit.size for unit in units) < _ALONE_BYTES:
            return self._together.ask(asked)
        go_apart()
        answers: list[Future[Any]] = [Future() for _ in asked]
        self._play(list(zip(asked, answers, strict=True)))
        return [answer.result() for answer in answers]

    def _play(self, taken: Round[tuple[str, Unit], Any]) -> None:
        if self._lacking:
            raise TasksUnavailable("its workers lack this package")
        units = [unit for unit, _ in taken]
        try:
            with reading([unit for _, unit in units]) as limits:
                answers = _job(self.session(), units, Given(limits, reached(self._lake)))
        except IncrementalAssetsError:
            raise
        except Exception as error:
            raise self._explained(error) from error
        for (_, answer), (fine, found) in zip(taken, answers, strict=True):
            if fine:
                answer.set_result(found)
            else:
                answer.set_exception(self._explained(found) if isinstance(found, ImportError) else found)

    def _explained(self, error: Exception) -> Exception:
        told = words(error)
        if isinstance(error, ImportError | TasksUnavailable) or any(each in told for each in _LACKING):
            self._lacking = True
            _log.warning(
                "Spark's workers cannot import this package, so Spark itself reads and writes all rows, which takes longer; "
                "have them run the driver's version of Python on the same kind of system, or install incremental-assets there: `incremental-assets doctor` says what they have"
            )
            return TasksUnavailable("its workers lack this package")
        return TasksUnavailable("a worker ended in the middle of it") if any(each in told for each in _DIED) else error


def begin_workers(session: SparkSession) -> None:
    """Start the Python workers of this machine by an empty job: they take a second to import what tasks need, for which the first job would wait."""
    if is_remote(session) or not str(session.sparkContext.master).startswith("local"):
        return
    workers = session.sparkContext.defaultParallelism
    session.sparkContext.parallelize(range(workers), workers).foreachPartition(_nothing)


def _nothing(_: Iterable[int]) -> None:
    """Do nothing; a worker knows this function by its name."""


@contextmanager
def reading(units: Sequence[Unit]) -> Iterator[Mapping[Budget, int]]:
    """For each source that is asked while the units work, the sessions that may be open at once. Sources in one order, so that no two jobs wait for each other."""
    asking = Counter(budget for unit in units if (budget := budget_of(unit)) is not None)
    with ExitStack() as held:
        yield {
            budget: held.enter_context(budget.readers(count))
            for budget, count in sorted(asking.items(), key=lambda each: each[0].place)
        }


def budget_of(unit: Unit) -> Budget | None:
    """That of the source which a unit asks; None for one that asks none."""
    return unit.budget if isinstance(unit, Asking) else None


def _job(session: SparkSession, units: Sequence[tuple[str, Unit]], given: Given) -> list[tuple[bool, Any]]:
    found = _answered(session, units, given)
    if lacks := found.pop(_LACKS, None):
        send(session, lacks)
        left = [place for place in range(len(units)) if place not in found]
        more = _answered(session, [units[place] for place in left], given)
        if still := more.pop(_LACKS, None):
            raise TasksUnavailable(f"its workers lack {listed(sorted(still))}, which were sent to them")
        found |= {left[place]: answer for place, answer in more.items()}
    return [found[place] for place in range(len(units))]


def _answered(session: SparkSession, units: Sequence[tuple[str, Unit]], given: Given) -> dict[int, Any]:
    """Of each unit by its place, and by `_LACKS` what workers lack that have answered none of theirs."""
    bins = packed([unit.size for _, unit in units], [budget_of(unit) for _, unit in units], given.limits)
    payload = [[(place, pickle.dumps(units[place])) for place in places] for places in bins]
    # In the same bytes as the units, which hold the passwords of sources: Spark shows of them nothing but how many there are.
    store = pickle.dumps(given.store)
    lacks, nothing = lacking(expected(session)), _LACKS

    def answers(numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        # Inside of it nothing of this module is named: what a worker cannot import, it is sent.
        if names := lacks():
            import pickle

            yield nothing, pickle.dumps(names)
            return
        from incremental_assets.adapters.spark.tasks import played, prepared

        prepared(store)
        for number in numbers:
            for place, each in payload[number]:
                yield place, played(each)

    run = _over_connect if is_remote(session) else _in_this_process
    found: dict[int, Any] = {}
    for place, answer in run(session, len(payload), answers):
        told = pickle.loads(answer)  # noqa: S301 - our own task wrote it
        found[place] = {*found.get(place, ()), *told} if place == _LACKS else told
    return found


def _in_this_process(session: SparkSession, tasks: int, answers: _Answers) -> Iterable[tuple[int, bytes]]:
    """Run tasks without Spark's SQL, which takes a JVM a CPU second or two to load and a tick needs for nothing else."""
    return session.sparkContext.parallelize(range(tasks), tasks).mapPartitions(answers).collect()


def _over_connect(session: SparkSession, tasks: int, answers: _Answers) -> Iterable[tuple[int, bytes]]:
    """A server takes nothing but SQL."""

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for place, answer in answers(batch.column(0).to_pylist()):
                yield pa.RecordBatch.from_pydict({"place": [place], "answer": [answer]})

    rows = session.range(0, tasks, 1, tasks).mapInArrow(work, "place long, answer binary").collect()
    return [(row["place"], row["answer"]) for row in rows]


def packed(
    sizes: Sequence[int], asking: Sequence[Budget | None] = (), limits: Mapping[Budget, int] | None = None
) -> list[list[int]]:
    """Places of the units of each task: a large one has a task of its own, small ones share some, as a task costs more than they do. Pure.

    A task works at one unit at a time: those that ask a source are in so many tasks at the most as sessions may be open.
    """
    wanted = sum(size + _TASK_BYTES for size in sizes) / _SHARE_BYTES
    bins = min(len(sizes), max(_TASKS, round(wanted)))
    loads, tasks = [0] * bins, [list[int]() for _ in range(bins)]
    used: dict[Budget, set[int]] = {}
    for place in sorted(range(len(sizes)), key=lambda place: sizes[place], reverse=True):
        budget = asking[place] if asking else None
        open_to: Iterable[int] = range(bins)
        if budget is not None and limits is not None:
            theirs = used.setdefault(budget, set())
            open_to = theirs if len(theirs) >= limits[budget] else open_to
        lightest = min(open_to, key=lambda each: (loads[each], each))
        if budget is not None:
            used.setdefault(budget, set()).add(lightest)
        loads[lightest] += sizes[place] + _TASK_BYTES
        tasks[lightest].append(place)
    return [each for each in tasks if each]


def prepared(store: bytes) -> None:
    """Runs in a task before its units: the lake is reached as the driver reaches it."""
    reach(pickle.loads(store))  # noqa: S301 - the driver wrote it
    begin_work()


def played(payload: bytes) -> bytes:
    """Runs in a task: the pickled answer of one unit, or the pickled error, behind whether it succeeded, so that no unit ends another."""
    module, unit = pickle.loads(payload)  # noqa: S301 - the driver wrote it
    try:
        return pickle.dumps((True, importlib.import_module(module).apply(unit)))
    except Exception as error:  # noqa: BLE001 - carried to whoever asked
        try:
            carried = pickle.dumps((False, error))
            pickle.loads(carried)  # noqa: S301
        except Exception:  # noqa: BLE001
            carried = pickle.dumps((False, TaskFailed(f"{type(error).__name__}: {error}")))
        return carried
