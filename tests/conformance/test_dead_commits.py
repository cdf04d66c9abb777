"""T10: what a killed run has asked of an engine goes on there for a moment, and may commit while the next run takes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from incremental_assets.adapters.delta import commit, fence
from incremental_assets.adapters.delta.tasks import write as by_tasks
from incremental_assets.core.planning.report import Status
from tests.conformance.mart import Marts, assert_healed
from tests.conformance.scenario import scenario
from tests.conformance.stand import Stand
from tests.left_to_spark import left_to_spark

TABLE = "visits"


class Died(BaseException):
    """The client is gone: what it has asked for is left to the engine."""


@scenario(
    "T10",
    "kill -9 of a run through an engine, whose commit is made for the dead run: before the next run's fence, while that is being written, or after it",
    holds="the next sync lands and asks for no second one; nothing is there twice, no staged batch, lease or open sequence is left",
)
@pytest.mark.parametrize("when", ["before the fence", "in the middle of it", "after it"])
def test_a_commit_that_an_engine_makes_for_a_dead_run(marts: Marts, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    with marts.running("incremental") as desk:
        on_its_way = left_to_the_engine(desk, monkeypatch)
        if when == "before the fence":
            on_its_way()
        elif when == "in the middle of it":
            in_the_middle_of_the_fence(monkeypatch, on_its_way)
        desk.execute("INSERT INTO visits VALUES ('afterwards', 'x')")

        landed = desk.sync(TABLE)[TABLE]

        assert (landed.status, landed.error) == (Status.LANDED, None)
        if when == "after it":
            on_its_way()
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
