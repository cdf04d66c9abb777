"""What a registry cannot give: while it is away a table stops and nothing of it lands, and a schema that it does not have is a record that is kept apart."""

from __future__ import annotations

import pytest

from incremental_assets.adapters.topics.shapes import OF_RECORD
from incremental_assets.core.config.kafka_settings import Format
from incremental_assets.core.errors import SourceUnreachable
from incremental_assets.core.model.table_id import TableId
from incremental_assets.core.planning.report import Status
from incremental_assets.core.strategies import Strategy
from tests.adapters.topics.broker import FakeTopic
from tests.adapters.topics.shop import Shop
from tests.adapters.topics.tables import topic


def opened() -> Shop:
    there = Shop(topic(Format.DEBEZIUM_AVRO))
    there.say("r", 1, "new")
    there.say("r", 2, "new")
    return there


def test_a_registry_that_is_away_stops_the_table_and_nothing_goes_to_quarantine() -> None:
    there = opened()
    there.sync()
    there.say("u", 1, "paid")
    there.registry.is_away = True
    with pytest.raises(SourceUnreachable, match="the schema registry at http://registry does not answer"):
        there.sync()
    assert (there.copy(), there.at().next) == ({1: "new", 2: "new"}, (2,))
    assert list(there.world.lake.unfit_rows(there.spec)) == []
    there.registry.is_away = False
    assert there.sync().rows.quarantined == 0
    assert there.copy() == {1: "paid", 2: "new"}


def test_a_registry_that_goes_while_records_are_read_stops_the_sync_and_the_next_one_reads_them_all() -> None:
    there = opened()
    # The schemas of the first records are known by then.
    there.topic.put({"id": 3}, b"\x00\x00\x00\x00\x63")
    inner = there.registry.schema

    def schema(number: int) -> tuple[str, ...]:
        there.registry.is_away = number == 99
        return inner(number)

    there.registry.schema = schema  # type: ignore[method-assign]
    with pytest.raises(SourceUnreachable):
        there.sync()
    there.registry.schema = inner  # type: ignore[method-assign]
    there.registry.is_away = False
    there.sync()
    assert (there.copy(), there.at().next) == ({1: "new", 2: "new"}, (3,))


def test_a_schema_that_the_registry_does_not_have_is_a_record_kept_apart_with_its_place() -> None:
    there = opened()
    for key in ({"id": 2}, None):
        there.topic.put(key, b"\x00\x00\x00\x00\x63anything")
    there.say("u", 1, "paid")
    report = there.sync()
    # What the source has of order 2 by now, the copy cannot show.
    assert (there.copy(), report.rows.quarantined) == ({1: "paid"}, 2)
    held = [(row["_topic_offset"], row["status"]) for row in there.world.lake.unfit_rows(there.spec)]
    why = "unfit: the value names schema 99, and the registry does not have it"
    assert held == [(2, why), (3, why)]
    there.say("u", 2, "healed")
    there.sync()
    assert there.copy() == {1: "paid", 2: "healed"}


def test_a_schema_is_asked_for_once_in_a_sync_however_many_records_name_it() -> None:
    there = opened()
    there.sync()
    for number in range(50):
        there.topic.put({"id": 1}, b"\x00\x00\x00\x00\x63")
        there.say("u", 1, f"at {number}")
    before = there.registry.asked
    assert there.sync().status is Status.LANDED
    # The key's, the row's with this one's values, and the one that is not there.
    assert there.registry.asked - before == 3


def test_while_a_registry_is_away_the_tables_in_json_are_known_and_the_others_say_why_they_are_not() -> None:
    there = opened()
    in_json = topic(id="bigint")
    other = TableId("shop", "shop", "clicks")
    there.broker.topics["clicks"] = FakeTopic()
    clicks = type(in_json)("shop.clicks", "clicks", Format.JSON, in_json.columns)
    there.probe.topics = {**there.probe.topics, other: (clicks, Strategy.APPEND)}
    there.registry.is_away = True
    orders, known = there.probe.catalogue()
    assert orders.undescribed.startswith("the schema registry at http://registry does not answer")
    assert known.names[0] == "id"
    there.registry.is_away = False
    orders, _ = there.probe.catalogue()
    assert (orders.undescribed, orders.names[:2]) == ("", ("id", "status"))
    assert len(orders.names) == 2 + len(OF_RECORD) + 1
