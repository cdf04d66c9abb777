"""Known-bad variants of the capture by topic: each leaves one thought out, and a scenario notices it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.adapters.topics import completing, unsent
from incremental_assets.adapters.topics import kafka as client
from incremental_assets.adapters.topics.tombstones import Tombstones
from incremental_assets.core.captures.topic import capture, ranges, stops
from tests.adapters.topics.server import KafkaServer
from tests.conformance import test_topic_broker as broker
from tests.conformance import test_topic_records as records
from tests.conformance.topic_stand import TopicStand
from tests.conformance.variants import Variant, assert_killed

pytestmark = pytest.mark.acceptance

Patch = pytest.MonkeyPatch


def _reads_all(patch: Patch) -> None:
    consumer = client.Consumer
    patch.setattr(client, "Consumer", lambda terms: consumer({**terms, "isolation.level": "read_uncommitted"}))


def _begins_where_it_can(patch: Patch) -> None:
    ahead = ranges.ahead

    def later(begin: Any, seen: Any) -> Any:
        return ahead([max(one, each.low) for one, each in zip(begin, seen.partitions, strict=False)], seen)

    patch.setattr(stops, "check_same", lambda *_: None)
    patch.setattr(capture, "check_same", lambda *_: None)
    patch.setattr(capture, "ahead", later)


def _knows_topics_by_name(patch: Patch) -> None:
    check = capture.check_same
    patch.setattr(capture, "check_same", lambda spec, at, seen: check(spec, replace(at, topic=""), seen))


VARIANTS: dict[str, Variant] = {
    "every record counts": Variant(
        "lands what a producer has aborted",
        _reads_all,
        "transactions of the producer",
        lambda topics, _: records.test_transactions_of_the_producer(topics),
    ),
    "what comes last is newest": Variant(
        "takes rows back while a connector repeats itself",
        lambda patch: patch.setattr(completing, "_held", lambda *_: {}),
        "a connector that repeats itself",
        lambda topics, _: records.test_a_connector_that_repeats_itself(topics),
    ),
    "what is gone is forgotten": Variant(
        "brings deleted rows back while a connector repeats itself",
        lambda patch: patch.setattr(Tombstones, "places", lambda *_: {}),
        "a connector that repeats itself",
        lambda topics, _: records.test_a_connector_that_repeats_itself(topics),
    ),
    "a placeholder is a value": Variant(
        "lands the placeholder of a value that was not sent",
        lambda patch: patch.setattr(unsent, "_TEXTS", frozenset()),
        "a value that was not sent",
        lambda topics, _: records.test_a_value_that_was_not_sent(topics),
    ),
    "a topic begins where it begins": Variant(
        "misses what retention has removed",
        _begins_where_it_can,
        "retention that was faster",
        broker.test_retention_that_was_faster,
    ),
    "a topic is known by its name": Variant(
        "goes on in another topic of the name, behind records that were never read",
        _knows_topics_by_name,
        "a topic that is made anew",
        lambda topics, kafka: broker.test_a_topic_that_is_made_anew(topics, kafka, 9),
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_known_bad_variant_is_killed(
    name: str,
    topics: TopicStand,
    kafka: KafkaServer,
    monkeypatch: Patch,
    record_property: Callable[[str, object], None],
) -> None:
    assert_killed(name, VARIANTS[name], monkeypatch, record_property, topics, kafka)
