"""What a topic has lost, or has become, stops its table by name, and nothing of it lands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from incremental_assets.core.errors import SchemaChanged, SourceExchanged, SourceRefused
from incremental_assets.core.planning.plan import Mode
from tests.adapters.topics.broker import envelope
from tests.adapters.topics.shop import Shop, later, opened, orders

pytestmark = pytest.mark.usefixtures("written")


def stops(there: Shop, error: type[Exception], words: str) -> None:
    before = there.copy(), there.at()
    with pytest.raises(error, match=words):
        there.sync()
    assert (there.copy(), there.at()) == before


def test_records_that_retention_has_removed_before_they_were_read_stop_the_table_by_name() -> None:
    there = opened()
    there.sync()
    later(there)
    there.topic.lows = [6]
    stops(
        there,
        SourceExchanged,
        "begins at offset 6, and 4 comes next: retention has removed records that were never read",
    )


def test_a_partition_that_came_later_and_has_lost_records_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.topic.add_partition()
    there.say("c", 7, "new", partition=1)
    there.topic.lows[1] = 1
    stops(there, SourceExchanged, "partition 1 of 'lab.shop.orders' begins at offset 1, and 0 comes next")


def test_records_that_retention_removes_while_they_are_read_stop_the_sync() -> None:
    there = opened()
    there.sync()
    process = later(there).world.process()

    def trim() -> None:
        there.topic.lows = [6]

    process.at["before snapshot"] = trim
    with pytest.raises(SourceRefused, match="no longer has the offsets from 4"):
        there.sync(process)
    assert there.at().next == (4,)


def test_a_topic_that_was_made_anew_stops_the_table_by_name_and_is_loaded_again() -> None:
    there = opened()
    there.sync()
    there.topic.id, there.topic.partitions = "topic-2", [[]]
    there.say("c", 8, "new")
    stops(there, SourceExchanged, "was made anew since it was read")
    there.sync(mode=Mode.FULL_REFRESH, allow_shrink=True)
    assert there.copy() == {8: "new"}


def test_another_cluster_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.broker.cluster = "cluster-2"
    stops(there, SourceExchanged, "another cluster answers than the one that was read")


def test_records_that_were_lost_with_their_broker_stop_the_table_by_name() -> None:
    there = opened()
    there.sync()
    del there.topic.partitions[0][2:]
    stops(there, SourceExchanged, "ends at offset 2, before 4 that was read to")


def test_fewer_partitions_stop_the_table_by_name() -> None:
    there = opened()
    there.topic.add_partition()
    there.sync()
    there.topic.partitions.pop()
    there.topic.lows.pop()
    stops(there, SourceExchanged, "has 1 partitions where 2 were read")


def test_a_topic_that_is_not_there_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.broker.topics.clear()
    stops(there, SourceRefused, "the cluster has no topic 'lab.shop.orders' that this user may read")


def test_the_log_of_another_server_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": "x"}, 5, ts_ms=9 * 10**12))
    stops(there, SourceExchanged, "goes on with the log of another server")


def test_a_new_snapshot_of_another_servers_log_stops_the_table_by_name() -> None:
    there = Shop()
    for key in (1, 2):
        there.topic.put({"id": key}, envelope("r", {"id": key, "status": "new"}, 100))
    there.sync()
    there.topic.put({"id": 1}, envelope("r", {"id": 1, "status": "back"}, 50, ts_ms=9 * 10**12))
    stops(there, SourceExchanged, "goes on with the log of another server")


def test_a_connector_that_is_not_covered_stops_the_table_by_name() -> None:
    there = opened()
    there.sync()
    there.topic.put({"id": 1}, envelope("u", {"id": 1, "status": "x"}, 500, connector="sqlserver"))
    stops(there, SourceRefused, "offset 4 of partition 0 of 'lab.shop.orders' is of Debezium's connector for sqlserver")


def test_a_column_that_comes_while_records_are_read_stops_the_sync_and_the_next_one_knows_it() -> None:
    there = Shop(replace(orders(), columns=(), key=()))
    told: Any = (lambda document: document) if there.made_of.format.is_avro else _with_schema
    there.topic.put(told({"id": 1}), told(envelope("c", {"id": 1, "status": "new"}, 10)))
    there.sync()
    assert [shape.names for shape in there.probe.catalogue()] == [there.spec.shape.names]
    more = envelope("c", {"id": 2, "status": "new", "note": "x"}, 20)
    there.topic.put(told({"id": 2}), told(more))
    with pytest.raises(SchemaChanged, match="its newest record has a column 'note', which came while it was read"):
        there.sync()
    (shape,) = there.probe.catalogue()
    assert "note" in shape.names


def _with_schema(document: dict[str, Any]) -> dict[str, Any]:
    """As Kafka Connect's converter writes it with its schema."""

    def fields(row: dict[str, Any]) -> list[dict[str, str]]:
        return [{"field": name, "type": "int64" if name == "id" else "string"} for name in row]

    if "after" not in document:
        return {"schema": {"type": "struct", "fields": fields(document)}, "payload": document}
    sides = [{"field": side, "fields": fields(document["after"])} for side in ("before", "after")]
    return {"schema": {"type": "struct", "fields": sides}, "payload": document}
