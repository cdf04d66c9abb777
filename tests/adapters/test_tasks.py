"""Units of work in Spark's tasks: what several threads bring is one job, and what one unit meets is its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pytest

from incremental_assets.adapters.spark import tasks
from incremental_assets.adapters.spark.tasks import TaskFailed, Tasks, TasksUnavailable, begin_workers, packed
from incremental_assets.core.errors import CursorIsNull, SourceRefused
from tests.spark_jobs import jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    assert "install incremental-assets in the Python environment of the cluster's machines" in caplog.text


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
