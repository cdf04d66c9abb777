"""Units of work in Spark's tasks: what several threads bring is one job, and what one unit meets is its own."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

import pytest

from incremental_assets.adapters.spark import tasks
from incremental_assets.adapters.spark.tasks import TaskFailed, Tasks, TasksUnavailable, begin_workers, packed
from incremental_assets.core.errors import CursorIsNull, SourceRefused
from tests.spark_jobs import jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

HERE = __name__
MIB = 2**20


@dataclass(frozen=True)
class Number:
    """A unit that is doubled."""

    value: int
    size: int = 0


def apply(unit: Number) -> int:
    """In a task."""
    if unit.value == 13:
        raise SourceRefused("13 is refused")
    if unit.value == 14:
        raise CursorIsNull("shop.public.orders", "at", 3)
    return unit.value * 2


def test_a_large_unit_has_a_task_of_its_own_and_small_ones_share_two() -> None:
    assert packed([]) == []
    assert packed([5]) == [[0]]
    shared = packed([1000] * 50)
    assert sorted(place for task in shared for place in task) == list(range(50))
    assert [len(task) for task in shared] == [25, 25]
    mixed = packed([200 * MIB, 10, 10, 200 * MIB, 10])
    assert sorted(len(task) for task in mixed) == [1, 1, 1, 1, 1] or {0} in map(set, mixed)
    assert all(len(task) == 1 for task in mixed if 0 in task or 3 in task)


class ClusterSession:
    """Only its master may be asked for."""

    class sparkContext:  # noqa: N801 - as Spark names it
        master = "spark://cluster:7077"


def test_workers_are_begun_on_this_machine_by_an_empty_job_and_those_of_a_cluster_are_left_alone(
    spark: SparkSession,
) -> None:
    before = jobs(spark)
    begin_workers(spark)
    begin_workers(cast("SparkSession", ClusterSession()))
    assert jobs(spark) - before == 1


def test_each_thread_gets_its_own_answer_and_what_a_unit_raises_is_raised_for_it_alone(spark: SparkSession) -> None:
    work = Tasks(lambda: spark)
    assert work.run_all(HERE, [Number(1), Number(2), Number(3)]) == [2, 4, 6]
    with ThreadPoolExecutor(3) as pool:
        good, bad = pool.submit(work.run, HERE, Number(4)), pool.submit(work.run, HERE, Number(13))
        assert good.result(60) == 8
        with pytest.raises(SourceRefused, match="13 is refused"):
            bad.result(60)


def test_an_error_that_cannot_be_carried_keeps_its_words(spark: SparkSession) -> None:
    with pytest.raises(TaskFailed, match=r"CursorIsNull: .*3 rows have no 'at'"):
        Tasks(lambda: spark).run(HERE, Number(14))


def test_what_comes_while_a_job_runs_is_one_job_more(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[int] = []
    begun, gate = threading.Event(), threading.Event()

    def job(session: object, units: Sequence[tuple[str, Number]], *_: object) -> list[tuple[bool, int]]:
        jobs.append(len(units))
        begun.set()
        gate.wait(60)
        return [(True, apply(unit)) for _, unit in units]

    monkeypatch.setattr(tasks, "_job", job)
    work = Tasks(lambda: None)  # type: ignore[arg-type, return-value]
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(work.run, HERE, Number(1))
        assert begun.wait(60)
        others = [pool.submit(work.run, HERE, Number(number)) for number in range(2, 5)]
        while work.waiting < 3:
            threading.Event().wait(0.001)
        gate.set()
        assert [first.result(60), *(other.result(60) for other in others)] == [2, 4, 6, 8]
    assert jobs == [1, 3]


def test_workers_without_this_package_are_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs: list[int] = []

    def job(session: object, units: Sequence[tuple[str, Number]], *_: object) -> list[tuple[bool, int]]:
        jobs.append(len(units))
        raise RuntimeError("PythonException: ModuleNotFoundError: No module named 'incremental_assets'")

    monkeypatch.setattr(tasks, "_job", job)
    work = Tasks(lambda: None)  # type: ignore[arg-type, return-value]
    for _ in range(2):
        with pytest.raises(TasksUnavailable, match="its workers lack this package"):
            work.run(HERE, Number(1))
    assert jobs == [1]
    assert "run the driver's version of Python on the same kind of system" in caplog.text


@dataclass
class Cluster:
    """A session of a cluster whose workers lack packages until these are sent, if they can use them."""

    takes: bool = True
    sent: bool = False
    asked: list[int] = field(default_factory=list)
    told: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def sparkContext(self) -> Self:  # noqa: N802
        return self

    def parallelize(self, numbers: Sequence[int], tasks: int) -> Self:
        self.asked.append(tasks)
        return self

    def mapPartitions(self, answers: Callable[[Iterable[int]], Iterator[tuple[int, bytes]]]) -> Self:  # noqa: N802
        for number in range(self.asked[-1]):
            # Of two workers one has them.
            has = self.sent or (len(self.asked) == 1 and number == 0)
            self.told += answers([number]) if has else [LACKS]
        return self

    def collect(self) -> list[tuple[int, bytes]]:
        told, self.told = self.told, []
        return told


LACKS = (-1, pickle.dumps(["incremental-assets"]))


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    found = Cluster()
    monkeypatch.setattr(tasks, "expected", lambda _: {})
    monkeypatch.setattr(tasks, "send", lambda *_: setattr(found, "sent", found.takes))
    return found


def test_units_of_workers_that_lack_packages_are_played_when_these_have_been_sent_and_others_are_not_played_again(
    cluster: Cluster,
) -> None:
    assert Tasks(cast("Callable[[], SparkSession]", lambda: cluster)).run_all(HERE, [Number(1), Number(2)]) == [2, 4]
    assert cluster.asked == [2, 1]


def test_workers_that_cannot_use_what_was_sent_leave_the_work_to_spark(cluster: Cluster) -> None:
    cluster.takes = False
    with pytest.raises(TasksUnavailable, match="lack"):
        Tasks(cast("Callable[[], SparkSession]", lambda: cluster)).run_all(HERE, [Number(1), Number(2), Number(3)])


def test_a_large_unit_is_a_job_of_its_own_for_which_no_other_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, gate = threading.Event(), threading.Event()

    def job(session: object, units: Sequence[tuple[str, Number]], *_: object) -> list[tuple[bool, int]]:
        if any(unit.size for _, unit in units):
            begun.set()
            assert gate.wait(60)
        return [(True, apply(unit)) for _, unit in units]

    monkeypatch.setattr(tasks, "_job", job)
    work = Tasks(lambda: None)  # type: ignore[arg-type, return-value]
    with ThreadPoolExecutor(1) as pool:
        large = pool.submit(work.run_all, HERE, [Number(1, 40 * MIB), Number(2, 40 * MIB)])
        assert begun.wait(60)
        assert work.run(HERE, Number(3)) == 6
        gate.set()
        assert large.result(60) == [2, 4]
