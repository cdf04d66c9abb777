"""T82: a sync of a topic ends anywhere; the next one makes it good."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from incremental_assets.core.errors import Busy
from incremental_assets.core.planning.report import Status
from tests.conformance.killing import killed_at
from tests.conformance.points import Point
from tests.conformance.scenario import of_topic
from tests.conformance.topic_stand import TopicStand

ROOT = Path(__file__).parents[2]
OF_LOAD = (Point.READING, Point.STAGED, Point.BEFORE_COMMIT, Point.AFTER_COMMIT, Point.LANDED)


@of_topic(
    "T82",
    "kill -9 of the whole process at each of the nine points of a landing, with changes before and after",
    holds="one more sync: the copy is what the records come to, each counted once, no file, lease or open sequence is left",
)
@pytest.mark.parametrize("point", [*map(str, Point)])
def test_a_killed_sync_is_made_good_by_the_next(topics: TopicStand, point: str) -> None:
    topics.put(*[topics.change("c", row, "new", "long") for row in range(6)])
    topics.land()
    topics.put(topics.change("u", 1, "paid"), topics.change("d", 2), topics.change("c", 7, "new"))
    killed_at(topics.place, point)
    topics.put(topics.change("u", 7, "paid"), topics.change("d", 1), topics.change("c", 2, "again"))
    topics.land()
    topics.assert_copy(*[(row, "new", "long") for row in (0, 3, 4, 5)], (2, "again", None), (7, "paid", None))
    assert topics.place.at().next == topics.ends()
    topics.assert_tidy()


@of_topic(
    "T82",
    "kill -9 at each of five points of a first load",
    holds="the next sync has all records, each once",
)
@pytest.mark.parametrize("point", [*map(str, OF_LOAD)])
def test_a_killed_load_is_made_good_by_the_next(topics: TopicStand, point: str) -> None:
    topics.configure(", strategy: append")
    topics.put(*[topics.change("c", row, "new") for row in range(12)])
    killed_at(topics.place, point)
    topics.put(*[topics.change("u", row, "paid") for row in range(12)])
    topics.land()
    told = [(row["_topic_partition"], row["_topic_offset"]) for row in topics.place.rows()]
    assert sorted(told) == [(number, offset) for number, end in enumerate(topics.ends()) for offset in range(end)]
    topics.assert_tidy()


def status(topics: TopicStand) -> Status:
    """How a sync ends; one that finds the table taken says so by an error."""
    try:
        return topics.place.sync().status
    except Busy as error:
        return Status.of(error)


@of_topic(
    "T82",
    "two runs sync the same topic at once, five times",
    holds="each record lands once; the one that comes second is turned away by its name, or finds nothing to do",
)
def test_two_runs_at_once(topics: TopicStand) -> None:
    topics.configure(", strategy: append")
    for number in range(5):
        topics.put(*[topics.change("c", number * 10 + row, "new") for row in range(10)])
        with ThreadPoolExecutor(2) as both:
            found = [each.result() for each in [both.submit(status, topics) for _ in range(2)]]
        assert Status.LANDED in found
        assert {*found} <= {Status.LANDED, Status.IDLE, Status.BUSY}
    topics.land()
    told = [(row["_topic_partition"], row["_topic_offset"]) for row in topics.place.rows()]
    assert sorted(told) == [(number, offset) for number, end in enumerate(topics.ends()) for offset in range(end)]
