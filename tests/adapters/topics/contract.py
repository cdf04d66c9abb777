"""What a cluster owes whoever reads it: the one in memory and a real one, by the same tests. A module imports them and defines `world`."""

from __future__ import annotations

from typing import Protocol

import pytest

from incremental_assets.adapters.topics.record import Broker, Record
from incremental_assets.core.captures.topic.observation import Ends
from incremental_assets.core.captures.topic.reading import Range
from incremental_assets.core.errors import SourceRefused


class ClusterWorld(Protocol):
    """A cluster, and those who write to it. Each test has a topic of its own, whose name `make` gives."""

    broker: Broker

    def make(self, partitions: int = 1) -> str: ...
    def make_anew(self, topic: str) -> None: ...
    def widen(self, topic: str, partitions: int) -> None: ...
    def put(self, topic: str, *values: str | None, partition: int = 0) -> None: ...
    def commit(self, topic: str, *values: str) -> None: ...
    def abort(self, topic: str, *values: str) -> None: ...
    def trim(self, topic: str, before: int) -> None: ...


def values(world: ClusterWorld, topic: str, *ranges: Range) -> list[tuple[int, int, bytes | None]]:
    return sorted((each.partition, each.offset, each.value) for each in world.broker.read(topic, ranges))


def ends(world: ClusterWorld, topic: str) -> tuple[Ends, ...]:
    (found,) = world.broker.look([topic])
    return found.partitions


def test_a_look_tells_where_each_partition_begins_and_ends(world: ClusterWorld) -> None:
    topic = world.make(2)
    assert ends(world, topic) == (Ends(0, 0), Ends(0, 0))
    world.put(topic, "a", "b")
    world.put(topic, "c", partition=1)
    assert ends(world, topic) == (Ends(0, 2), Ends(0, 1))


def test_a_look_at_several_answers_in_their_order_and_one_that_is_not_there_has_no_partition(
    world: ClusterWorld,
) -> None:
    first, second = world.make(), world.make(2)
    found = world.broker.look([second, "nowhere", first])
    assert [(each.topic, len(each.partitions)) for each in found] == [(second, 2), ("nowhere", 0), (first, 1)]
    assert found[0].cluster == found[2].cluster != ""
    assert len({found[0].id, found[2].id, ""}) == 3


def test_a_range_has_its_records_and_no_others(world: ClusterWorld) -> None:
    topic = world.make(2)
    world.put(topic, "a", "b", None, "d")
    world.put(topic, "x", partition=1)
    assert values(world, topic, Range(0, 1, 3)) == [(0, 1, b"b"), (0, 2, None)]
    assert values(world, topic, Range(0, 3, 4), Range(1, 0, 1)) == [(0, 3, b"d"), (1, 0, b"x")]
    assert values(world, topic, Range(0, 1, 3)) == [(0, 1, b"b"), (0, 2, None)], "and has them again"


def test_records_have_key_time_and_place(world: ClusterWorld) -> None:
    topic = world.make()
    world.put(topic, "a")
    (record,) = world.broker.read(topic, [Range(0, 0, 1)])
    assert isinstance(record, Record)
    assert (record.key, record.value, record.at > 1_700_000_000_000) == (b"key", b"a", True)


def test_records_that_were_aborted_do_not_come_and_a_range_ends_at_the_marks_behind_them(world: ClusterWorld) -> None:
    topic = world.make()
    world.put(topic, "a")
    world.abort(topic, "never")
    world.commit(topic, "b")
    (end,) = ends(world, topic)
    assert (end, values(world, topic, Range(0, 0, end.high))) == (Ends(0, 5), [(0, 0, b"a"), (0, 3, b"b")])
    assert values(world, topic, Range(0, 1, 3)) == []
    assert values(world, topic, Range(0, 4, 5)) == []
    world.put(topic, "c")
    assert values(world, topic, Range(0, 4, 5)) == [], "where more follows, too"


def test_records_that_are_gone_are_refused_and_none_is_passed_over(world: ClusterWorld) -> None:
    topic = world.make()
    world.put(topic, "a", "b", "c")
    world.trim(topic, 2)
    assert ends(world, topic) == (Ends(2, 3),)
    with pytest.raises(SourceRefused, match=r"partition 0 of .* no longer has the offsets from 1"):
        values(world, topic, Range(0, 1, 3))
    assert values(world, topic, Range(0, 2, 3)) == [(0, 2, b"c")]


def test_a_partition_that_comes_later_is_there(world: ClusterWorld) -> None:
    topic = world.make()
    world.put(topic, "a")
    world.widen(topic, 2)
    world.put(topic, "b", partition=1)
    assert ends(world, topic) == (Ends(0, 1), Ends(0, 1))


def test_a_topic_that_was_made_anew_has_another_number(world: ClusterWorld) -> None:
    topic = world.make()
    (before,) = world.broker.look([topic])
    world.make_anew(topic)
    (after,) = world.broker.look([topic])
    assert (before.id == after.id, before.cluster == after.cluster) == (False, True)
