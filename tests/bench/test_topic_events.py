"""The events of the benchmark are those of Debezium, and come to the table that is held against the copies."""

from __future__ import annotations

import json
from typing import Any

from bench.topic_events import DECLARED, TYPES, Orders
from incremental_assets.adapters.topics.changes import Decoding
from incremental_assets.adapters.topics.folding import folded
from incremental_assets.adapters.topics.record import Record
from incremental_assets.core.captures.topic.position import Log
from incremental_assets.core.config.kafka_settings import Format
from tests.adapters.topics.broker import recorded
from tests.adapters.topics.tables import table, topic

COLUMNS = dict(each.split(": ") for each in DECLARED.strip("{}").replace("'", "").split(", "))


def records(orders: Orders) -> list[Record]:
    written = [*orders.snapshot(50), *orders.changes(400)]
    return [Record(each.partition, offset, each.at, each.key, each.value) for offset, each in enumerate(written)]


def envelopes(orders: Orders) -> list[dict[str, Any]]:
    return [json.loads(each.value) for each in records(orders) if each.value is not None]


def test_an_event_has_the_fields_of_those_that_were_recorded() -> None:
    recorded_ones = [value for _, value in recorded("pg_schemaless") if value is not None and value["op"] in "rcud"]
    for op in "rcud":
        of_debezium = next(value for value in recorded_ones if value["op"] == op)
        mine = next(value for value in envelopes(Orders()) if value["op"] == op)
        assert list(mine) == list(of_debezium)
        assert list(mine["source"]) == list(of_debezium["source"])


def test_half_of_the_changes_come_and_some_of_the_others_go_with_a_tombstone() -> None:
    changes = records(Orders())[50:]
    ops = [json.loads(each.value)["op"] if each.value else "tombstone" for each in changes]
    assert {op: ops.count(op) for op in ops} == {"c": 200, "u": 190, "d": 10, "tombstone": 10}


def test_what_decoding_makes_of_the_events_is_the_table() -> None:
    orders = Orders()
    decoding = Decoding(table(topic(**COLUMNS)), Format.DEBEZIUM)
    found = folded([decoding.change(each) for each in records(orders)], Log(), by_place=True)
    rows = sorted(chain[-1].values for chain in found.rows.values() if chain[-1].values)
    expected = orders.table()
    assert expected.column_names == list(TYPES) == list(decoding.names)
    numbers = expected.set_column(6, "day", expected.column("day").cast("int32")).set_column(
        9, "at", expected.column("at").cast("int64")
    )
    assert rows == [list(row.values()) for row in numbers.to_pylist()]
