"""Work in Spark's tasks: units that several threads bring at the same time go into one job, and each thread gets the answer of its own."""

from __future__ import annotations

import importlib
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class Unit(Protocol):
    """What one task works on: a plain value that its module's `apply` takes."""

    @property
    def size(self) -> int:
        """For the order in which units are begun, the largest first."""


class TaskFailed(Exception):
    """A task ended in an error that cannot be carried to the driver as it is; its words are."""


class Tasks:
    """One job at a time: whatever comes while it runs goes into the next one."""

    def __init__(self, session: Callable[[], SparkSession]) -> None:
        self._session = session
        self._changed = threading.Condition()
        self._waiting: list[tuple[str, Unit, Future[Any]]] = []
        self._at_work = False

    def run(self, module: str, unit: Unit) -> Any:
        """What `apply(unit)` of a module returns in a task; what it raises is raised here."""
        (answer,) = self.run_all(module, [unit])
        return answer

    def run_all(self, module: str, units: Sequence[Unit]) -> list[Any]:
        """The same of several units, side by side; what the first one that fails raises is raised when all have ended."""
        answers: list[Future[Any]] = [Future() for _ in units]
        with self._changed:
            self._waiting += [(module, unit, answer) for unit, answer in zip(units, answers, strict=True)]
            while not all(answer.done() for answer in answers):
                if self._at_work:
                    self._changed.wait()
                    continue
                taken, self._waiting, self._at_work = self._waiting, [], True
                self._changed.release()
                try:
                    self._play(taken)
                finally:
                    self._changed.acquire()
                    self._at_work = False
                    self._changed.notify_all()
        return [answer.result() for answer in answers]

    def _play(self, taken: Sequence[tuple[str, Unit, Future[Any]]]) -> None:
        ordered = sorted(taken, key=lambda each: each[1].size, reverse=True)
        try:
            answers = _job(self._session(), [(module, unit) for module, unit, _ in ordered])
        except BaseException as error:  # noqa: BLE001 - raised in each of the threads that wait for it
            for _, _, answer in ordered:
                answer.set_exception(error)
            return
        for (_, _, answer), (fine, found) in zip(ordered, answers, strict=True):
            if fine:
                answer.set_result(found)
            else:
                answer.set_exception(found)


def _job(session: SparkSession, units: Sequence[tuple[str, Unit]]) -> list[tuple[bool, Any]]:
    payload = [pickle.dumps(each) for each in units]

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Inside of it nothing of this module is named: what a worker cannot import, it is sent.
        import pyarrow as pa

        from incremental_assets.adapters.spark.tasks import played

        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"place": [place], "answer": [played(payload[place])]})

    frame = session.range(0, len(units), 1, len(units))
    rows = frame.mapInArrow(work, "place long, answer binary").collect()
    found = {row["place"]: pickle.loads(row["answer"]) for row in rows}  # noqa: S301 - our own task wrote it
    return [found[place] for place in range(len(units))]


def played(payload: bytes) -> bytes:
    """In a task: the answer of one unit, or what it raised, so that no unit ends another."""
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
