"""T10: what a killed run has asked of an engine goes on there for a moment, and may commit while the next run takes over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from incremental_assets.adapters.delta import commit, fence
from incremental_assets.adapters.delta.tasks import write as by_tasks
from incremental_assets.adapters.spark.own_names import RUN_ID
from incremental_assets.core.planning.report import Status
from tests.conformance.mart import Marts, assert_healed
from tests.conformance.planes import is_by_spark
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.left_to_spark import left_to_spark
from tests.waiting import until

TABLE = "visits"


class Died(BaseException):
    """The client is gone: what it has asked for is left to the engine."""


@scenario(
    "T10",
    "kill -9 of a run through an engine, whose commit is made for the dead run: before the next run's fence, while that is being written, or after it",
    holds="the next sync lands and asks for no second one; nothing is there twice, no staged batch, lease or open sequence is left",
)
@pytest.mark.parametrize("when", ["before the fence", "in the middle of it", "after it"])
def test_a_commit_that_an_engine_makes_for_a_dead_run(
    marts: Marts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, when: str
) -> None:
    with marts.running("incremental") as desk:
        on_its_way = left_to_the_engine(desk, monkeypatch)
        made = list[str]()

        def then() -> None:
            on_its_way()
            made.append(when)

        if when == "before the fence":
            then()
        elif when == "in the middle of it" and is_by_spark():
            in_the_middle_of_sparks_fence(monkeypatch, then, tmp_path)
        elif when == "in the middle of it":
            in_the_middle_of_the_fence(monkeypatch, then)
        desk.execute("INSERT INTO visits VALUES ('afterwards', 'x')")

        landed = desk.sync(TABLE)[TABLE]

        assert (landed.status, landed.error) == (Status.LANDED, None)
        if when == "after it":
            then()
        assert made == [when], "the dead run's commit was made when it was to be"
        monkeypatch.undo()
        monkeypatch.setenv("SHOP_PASSWORD", "s3cret-of-the-reader")
        desk.assert_equal(TABLE)
        assert_healed(desk)


def left_to_the_engine(desk: Stand, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A run that dies in its commit; what makes that commit after all. A commit of our own is made by the run itself, so it is Spark's writer."""
    asked: list[tuple[Any, Any]] = []

    def die(rows: Any, to: Any) -> None:
        asked.append((rows, to))
        raise Died

    write = commit.write
    with monkeypatch.context() as only:
        only.setattr(commit, "write", die)
        only.setattr(by_tasks, "write", left_to_spark)
        with pytest.raises(Died):
            desk.sync(TABLE)

    def go_on() -> None:
        try:
            write(*asked[0])
        except commit.Overtaken:
            assert desk.kinds(TABLE)[-1] != "staged", "nobody was there to overtake it"

    return go_on


def in_the_middle_of_the_fence(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """The fence has looked at the log before the other commit is made."""
    directly, made = fence._directly, list[None]()

    def late(*given: Any) -> None:
        if not made:
            made.append(then())
        directly(*given)

    monkeypatch.setattr(fence, "_directly", late)


def in_the_middle_of_sparks_fence(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None], place: Path) -> None:
    """The same of Spark's: its query waits until the other commit is made, and Delta has looked at the log before it runs."""
    reached, made = place / "reached", place / "made"
    empty = commit.empty

    def gated(session: Any) -> Any:
        if reached.exists():
            return empty(session)
        threading.Thread(target=go_on).start()
        # In one task: this machine may have two, and the other commit needs one.
        return session.range(0, 1, 1, 1).mapInArrow(_waits(str(reached), str(made)), f"{RUN_ID} string")

    def go_on() -> None:
        until(reached.exists)
        then()
        made.touch()

    monkeypatch.setattr(commit, "empty", gated)


def _waits(reached: str, made: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For a worker of Spark's, which knows nothing of this module."""

    def work(_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time
        from pathlib import Path

        Path(reached).touch()
        deadline = time.monotonic() + 300
        while not Path(made).exists():
            if time.monotonic() > deadline:
                raise TimeoutError(made)
            time.sleep(0.05)
        yield from ()

    return work
